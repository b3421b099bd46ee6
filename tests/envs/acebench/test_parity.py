"""Our answers, states and scores beside those of the checkout's own executors and scorer, on the same conversations."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from metagym_envs.acebench.entries import Entry
from metagym_envs.acebench.world import FAILED, UNKNOWN
from tests.envs.acebench import deriving, official, real


def conversations() -> list[tuple[Entry, list[str]]]:
    """Nothing, solutions, milestones, and what is a little wrong, of all tasks."""
    tasks = real.tasks()
    solutions = {one.id: deriving.solution(real.checkout(), one) for one in tasks}
    calls = [call for one in tasks for call in (*solutions[one.id], *deriving.calls_of(one))]
    found: list[tuple[Entry, list[str]]] = []
    for one in tasks:
        found += [(one, sent) for sent in ([], deriving.sent(solutions[one.id]), *deriving.milestones(one))]
        found += [(one, sent) for sent in deriving.variants(one, solutions[one.id], calls)]
    return found


def same(ours: str, theirs: Any) -> bool:
    """Whether two answers say the same."""
    if theirs is None or isinstance(theirs, str):  # it went to the user, or nothing of it could be read
        return not ours.startswith("Results: ")
    results = json.loads(ours.removeprefix("Results: "))
    if any(str(result).startswith(FAILED) for result in results) and all(len(str(part)) == 1 for part in theirs):
        return "".join(map(str, theirs)).startswith(FAILED)  # in a dialogue they tell an error letter by letter
    return len(results) == len(theirs) and all(
        # Of a function that is not there they tell the result of the call before it, or trip over there being none.
        told in theirs[:number] or "func_call_result" in told
        if isinstance(result, str) and result.startswith(UNKNOWN)
        else result in (told, _value(told))
        for number, (result, told) in enumerate(zip(results, theirs, strict=True))
    )


def _value(told: Any) -> Any:
    """What they tell as Python writes it."""
    try:
        return json.loads(json.dumps(ast.literal_eval(told)))
    except (ValueError, SyntaxError):
        return told


@pytest.mark.slow
def test_the_official_executors_and_scorer_say_the_same(tmp_path: Path) -> None:
    asked = conversations()
    if lacking := official.missing(real.checkout()):
        pytest.skip(f"{real.checkout()} lacks {', '.join(lacking)}")
    jobs = [(one.kind, int(one.id.rpartition("_")[2]), sent) for one, sent in asked]
    messages = right = reached = 0
    for (one, sent), theirs in zip(asked, official.played(real.checkout(), jobs, tmp_path), strict=True):
        answers, state, end = real.played(one, sent)
        where, scores = f"{one.id}: {sent}", end["scores"]
        assert [pair for pair in zip(answers, theirs.answers, strict=True) if not same(*pair)] == [], where
        assert theirs.state in (state, []), where  # they have none where no message ran
        assert scores["official_end_to_end"] == theirs.right, where
        assert scores["official_process"] == pytest.approx(theirs.process, abs=6e-4), where  # they round it
        messages, right, reached = messages + len(sent), right + theirs.right, reached + end["success"]
    print(f"{len(asked)} conversations, {messages} messages: officially right {right}, by every class {reached}")
    assert 150 < reached < right < len(asked) - 150
