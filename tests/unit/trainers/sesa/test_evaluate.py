"""Evaluations: paired over questions, unscored left out, leaks refused, arms side by side."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metagym.errors import BadInput, RunError
from metagym.journal import Journal
from metagym.sesa.cards import SkillCard, question_sha256
from metagym.sesa.skills import SkillBank
from metagym_trainers.sesa.evaluate import compared, greedy, held_out, refuse_leaks, table
from metagym_trainers.sesa.opponent import NO_CARDS
from metagym_trainers.sesa.report import arms_table, figure, read_records, rounds
from metagym_trainers.tiny.models import word_tokenizer
from metagym_trainers.tiny.relations import VOCABULARY, held_out_questions
from tests.unit.trainers.sesa.easy import EasyWorld
from tests.unit.trainers.sesa.test_rollouts import Policy


def sides() -> dict[str, dict[str, bool | None]]:
    ids = [f"q{number}" for number in range(40)]
    return {
        "start": {id_: False for id_ in ids},
        "off": {id_: number % 2 == 0 for number, id_ in enumerate(ids)},
        "on": {id_: None if number == 0 else number % 4 != 3 for number, id_ in enumerate(ids)},
        "placebo": {id_: number % 2 == 0 for number, id_ in enumerate(ids)},
    }


def test_sides_are_compared_question_by_question_and_unscored_ones_leave_the_pairs() -> None:
    found = {(one.base, one.other): one for one in compared(sides())}
    gain = found["off", "on"]
    assert gain.difference.n == 39 and gain.difference.unscored == 1
    assert (gain.test.only_a, gain.test.only_b) == (0, 10) and gain.test.p is not None and gain.test.p < 0.01
    assert gain.difference.value == pytest.approx(10 / 39)
    assert [pair for pair in found] == [("start", "off"), ("start", "on"), ("off", "on"), ("placebo", "on")]


def test_a_table_tells_rates_intervals_tests_and_what_is_missing() -> None:
    text = table(sides(), "a toy")
    assert "## a toy" in text and "| off | 0.500 | [0.352, 0.648] | 40 | 0 |" in text
    assert "| on | 0.744 |" in text and "| 39 | 1 |" in text
    assert "on - placebo" in text and "placebo only 0, on only 10" in text
    assert "on - off" not in table({"start": {"q": True}, "off": {"q": None}}, "x")


def test_held_out_questions_are_played_once_each_and_failures_are_unscored() -> None:
    world = EasyWorld(word_tokenizer(VOCABULARY), held_out_questions(5))
    policy = Policy(world, fails=[2])
    found = asyncio.run(held_out(world, policy, NO_CARDS, 0))
    assert list(found) == [one.id for one in world.held_out] and list(found.values()).count(None) == 1
    assert len(policy.seeds) == 5


def test_greedy_is_put_back() -> None:
    trainer = SimpleNamespace(use_vllm=False, generation_config=SimpleNamespace(do_sample=True))
    with pytest.raises(KeyError), greedy(trainer):
        assert trainer.generation_config.do_sample is False
        raise KeyError
    assert trainer.generation_config.do_sample is True
    served = SimpleNamespace(use_vllm=True, vllm_generation=SimpleNamespace(temperature=1.0))
    with greedy(served):
        assert served.vllm_generation.temperature == 0.0
    assert served.vllm_generation.temperature == 1.0


def test_a_bank_that_learnt_from_the_evaluation_is_refused(tmp_path: Path) -> None:
    world = EasyWorld(word_tokenizer(VOCABULARY), held_out_questions(3))
    with SkillBank.open(tmp_path / "bank", "hash") as bank:
        bank.add(SkillCard("fine", question_sha256=question_sha256("another question")))
        refuse_leaks(world, bank.snapshot())
        bank.add(SkillCard("told", question_sha256=question_sha256(world.held_out[0].text)))
        with pytest.raises(BadInput, match="1 cards were learnt"):
            refuse_leaks(world, bank.snapshot())


def recorded(folder: Path, off: float, on: float | None, ends: bool = True) -> Path:
    folder.mkdir()
    asked: dict[str, Any] = {"verdicts": {"valid": 3, "no-question": 1}, "success": 0.5, "frontier": 0.25, "cards": 4}
    with Journal.open(folder / "records.jsonl", "w") as journal:
        journal.append("start/held-out", {str(at): at < 2 for at in range(10)})
        journal.append("round/0/ask", asked)
        if ends:
            journal.append("round/0/off/held-out", {str(at): at < 10 * off for at in range(10)})
        if on is not None:
            journal.append("round/0/on/held-out", {str(at): at < 10 * on for at in range(10)})
    return folder


def test_arms_are_told_by_median_and_range(tmp_path: Path) -> None:
    runs = {("sesa", at): recorded(tmp_path / f"s{at}", 0.3 + at / 10, 0.8) for at in range(3)}
    runs |= {("ssp", 0): recorded(tmp_path / "p0", 0.5, None)}
    lines = arms_table(runs).splitlines()
    assert lines[2] == (
        "| sesa | 3 | 0.200 [0.200, 0.200] | 0.400 [0.300, 0.500] | 0.800 [0.800, 0.800] | - | 0.400 [0.300, 0.500] |"
    )
    assert lines[3] == "| ssp | 1 | 0.200 [0.200, 0.200] | 0.500 [0.500, 0.500] | - | - | - |"


def test_a_run_that_did_not_end_is_in_no_table(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no run at its end"):
        arms_table({("sesa", 0): recorded(tmp_path / "half", 0.5, None, ends=False)})


def test_rounds_and_their_figure_are_read_from_the_records(tmp_path: Path) -> None:
    records = read_records(recorded(tmp_path / "run", 0.4, 0.7))
    (row,) = rounds(records)
    assert row == {"success": 0.5, "frontier": 0.25, "cards": 4, "valid": 0.75, "off": 0.4, "on": 0.7}
    assert figure(tmp_path / "run", records, "a toy").stat().st_size > 5_000
