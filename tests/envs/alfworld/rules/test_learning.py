"""The loop learns with the stand-ins, on unseen games and task types, through the doors that everybody uses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import controls
from metagym.families import Family, load_family
from tests.envs.alfworld.rules.helpers import benchmark

measure = benchmark()
GAMES = 5  # per type


@pytest.fixture(scope="module")
def family() -> Family:
    return load_family("ALFWorld", engine="native", data="generated")


def success(family: Family, prompt: str, types: Sequence[str] | None = None) -> float:
    outcomes = measure.success(family, measure.unseen(family, GAMES, types), prompt, [0])
    return sum(map(bool, outcomes)) / len(outcomes)


def test_eight_reflections_lift_success_on_unseen_games(family: Family) -> None:
    prompts = measure.learn(family, 0)
    assert len(prompts) == 9 and prompts[0] == ""
    assert success(family, prompts[0]) <= 0.15
    assert success(family, prompts[-1]) >= 0.8
    for before, after in zip(prompts, prompts[1:], strict=False):
        assert after.startswith(before) and after.count("\n") <= before.count("\n") + 1
    assert measure.learn(family, 0) == prompts


def test_what_was_learned_holds_for_unseen_task_types(family: Family) -> None:
    types = family.task_set("train").types
    held = [kind for kind in types if measure.short(kind) in ("heat", "light")]
    seen = [kind for kind in types if kind not in held]
    assert len(held) == 2
    assert success(family, measure.learn(family, 1, seen)[-1], held) >= 0.8


def test_wording_and_order_do_not_matter_but_content_does(family: Family) -> None:
    full = success(family, controls.full_prompt())
    assert full >= 0.8
    assert success(family, measure.shuffled(controls.full_prompt(), 0)) >= full - 0.1
    assert success(family, controls.PARAPHRASES["paragraph"]) >= full - 0.1
    assert success(family, controls.IRRELEVANT["furniture"]) <= 0.1
    assert success(family, controls.full_prompt(open=controls.NEGATED["open"])) <= full - 0.3


@pytest.mark.slow
def test_every_bound_of_the_table_holds_on_generated_games(family: Family) -> None:
    rows = [*measure.main_rows(family), *measure.transfer_rows(family)]
    assert len(rows) > 60
    assert [row for row in rows if not row.holds] == []


@pytest.mark.slow
def test_every_negation_of_a_rule_costs_success_and_no_contrast_does(family: Family) -> None:
    rows = list(measure.negation_rows(family))
    assert len(rows) > 100
    assert [row for row in rows if not row.holds] == []


@pytest.mark.slow
def test_every_bound_of_the_table_holds_on_published_games(shared_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shared_dir / "data" / "alfworld" / "games_474.jsonl.xz"
    if not path.exists():
        pytest.skip("the published games are not among the test material")
    monkeypatch.setenv("ALFWORLD_DATA", str(path))
    published = load_family("ALFWorld", engine="native", data="published")
    rows = [*measure.main_rows(published, 1000, range(5), "valid_train"),
            *measure.transfer_rows(published, 1000, split="valid_train")]  # fmt: skip
    assert [row for row in rows if not row.holds] == []


def test_the_table_says_when_a_bound_fails(capsys: pytest.CaptureFixture[str]) -> None:
    from metagym.stats import wilson

    rows = [measure.above("good", wilson(9, 10), 0.8), measure.below("bad", wilson(9, 10), 0.5)]
    assert measure.table(rows) is False
    out = capsys.readouterr().out
    assert "| good | 0.90" in out and "**FAILS**" in out and sys.stdout is not None
