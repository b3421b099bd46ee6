"""Our verdicts beside those of the package's own command, entry by entry, on the same conversations."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metagym_envs.bfcl.calls import Call
from metagym_envs.bfcl.data import CATEGORIES, Entry, entries
from metagym_envs.bfcl.env import ToolConversation
from tests.envs.bfcl import official, playing


def script(one: Entry, number: int) -> list[list[tuple[Call, ...]]]:
    """The answer: in every fourth entry without its last call, in every eighth call by call, with one doubled."""
    played = [[calls] if calls else [] for calls in one.truth]
    busy = [turn for turn, calls in enumerate(one.truth) if calls]
    turn = busy[number % len(busy)]
    if number % 4 == 1:
        rest = one.truth[turn][:-1]
        played[turn] = [rest] if rest else []
    elif number % 8 == 3:
        played[turn] = [(call,) for call in (*one.truth[turn], one.truth[turn][-1])]
    return played


def ours(one: Entry, played: list[list[tuple[Call, ...]]]) -> bool:
    def policy(env: ToolConversation) -> str:
        from metagym_envs.bfcl.calls import written

        steps = played[len(env.played) - 1]
        done = len(env.played[-1])
        return written(steps[done]) if done < len(steps) else playing.END

    return bool(playing.play(one, policy)["success"])


@pytest.mark.slow
@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("changed", [False, True], ids=["answer", "changed"])
def test_the_packages_own_command_says_the_same(category: str, changed: bool, tmp_path: Path) -> None:
    if not os.environ.get(official.PROGRAM):
        pytest.skip(f"{official.PROGRAM} does not name the `bfcl` program of an environment with all that it needs")
    plans = {one.id: script(one, number if changed else 0) for number, one in enumerate(entries(category).values())}
    theirs = official.verdicts(category, plans, tmp_path)
    mine = {id_: ours(entries(category)[id_], plan) for id_, plan in plans.items()}
    differ = [id_ for id_ in plans if theirs[id_] != mine[id_]]
    print(category, "theirs", sum(theirs.values()), "ours", sum(mine.values()), "differ", differ)
    assert len(differ) <= 1 and sum(theirs.values()) >= (50 if changed else 199)
    assert changed == (not all(mine.values()))
