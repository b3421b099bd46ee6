"""Deployments off, on and placebo (V1 to V5): what they read, that they change nothing, and how they are compared."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym import stats
from metagym.answers import AnswerScorer
from metagym.episodes import Episode, Status
from metagym.errors import BadInput
from metagym.qadata import QARow
from metagym.sesa import scores as scoring
from metagym.sesa.cards import SkillCard, question_sha256
from metagym.sesa.deploy import PlaceboRetriever, filler, placebo_block, retriever_for
from metagym.sesa.evaluate import EvalConfig, eval_rows, evaluate, run_card
from metagym.sesa.retrieval import SkillBlock, SkillRetriever
from metagym.sesa.rollouts import RolloutSettings
from metagym.sesa.scores import MACRO, MICRO, Column, macro_mean, score_table
from metagym.sesa.skills import SkillBank
from metagym.sesa.slots import MemoryRecords
from metagym.sesa.stand_ins import SearchingSolver, question_in
from metagym.tasks import Task
from tests.unit.sesa.loops import material
from tests.unit.sesa.worlds import DECOMPOSE, Recording, wait


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    with SkillBank.open(tmp_path / "bank") as made:
        made.add(DECOMPOSE)
        made.add(SkillCard("Name the town and not the region.", "The question asks for a place.", "", "{town} {fact}"))
    return tmp_path / "bank"


def tree(folder: Path) -> str:
    """Digest over names and bytes of everything below a folder."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        whole.update(str(path.relative_to(folder)).encode())
        whole.update(path.read_bytes() if path.is_file() else b"")
    return whole.hexdigest()


def played(
    config: EvalConfig,
    folder: Path | None,
    *,
    solver: Any = None,
    records: MemoryRecords | None = None,
    rows: list[QARow] | None = None,
    **options: Any,
) -> dict[str, list[Episode]]:
    bank = None if folder is None else SkillBank.open(folder, read_only=True)
    try:
        return wait(
            evaluate(
                config,
                eval_rows(config, material()) if rows is None else rows,
                solver or SearchingSolver(),
                material().searcher,
                AnswerScorer("em"),
                bank,
                records or MemoryRecords(),
                **options,
            )
        )
    finally:
        if bank is not None:
            bank.close()


def tokens(episodes: Iterable[Episode]) -> list[Any]:
    return [(e.task.key, e.success, [(t.observation, t.reply) for t in e.turns], e.last_observation) for e in episodes]


SMALL = EvalConfig(count=9)


def test_v1_off_works_with_an_unreadable_or_deleted_bank(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: Any, **__: Any) -> Any:
        raise AssertionError("the deployment 'off' opened a bank")

    monkeypatch.setattr(SkillBank, "open", refuses)
    os.chmod(bank, 0o000)
    try:
        found = played(replace(SMALL, deployments=("off",)), None)["off"]
    finally:
        os.chmod(bank, 0o755)
    assert len(found) == 9 and all("Lessons from earlier searches" not in e.turns[0].observation for e in found)


def test_v2_off_and_on_play_one_solver_and_the_records_name_the_bank(bank: Path) -> None:
    solver, records = Recording(SearchingSolver()), MemoryRecords()
    played(SMALL, bank, solver=solver, records=records)
    with SkillBank.open(bank, read_only=True) as opened:
        state = {"seq": opened.seq, "digest": opened.digest}
    for name in ("on", "placebo"):
        assert records.items[f"arm/{name}/bank"] == {
            "kind": "bank", "deployment": name, "bank": state, "unchanged": True,
        }  # fmt: skip
    assert "arm/off/bank" not in records.items
    firsts = [request for request in solver.requests if len(request.messages) == 1]
    seeds: dict[str, set[int | None]] = {}
    for request in firsts:
        seeds.setdefault(question_in(request.messages[0].content), set()).add(request.seed)
    assert len(firsts) == 27 and len(seeds) == 9
    assert all(len(found) == 1 for found in seeds.values()), "equal questions have equal sampling seeds"


def test_v3_with_an_empty_bank_on_equals_off_token_for_token(tmp_path: Path) -> None:
    SkillBank.open(tmp_path / "empty").close()
    found = played(EvalConfig(count=12, deployments=("off", "on", "placebo")), tmp_path / "empty")
    assert tokens(found["on"]) == tokens(found["off"]) == tokens(found["placebo"])
    nothing = played(EvalConfig(count=12, retrieve_k=0), tmp_path / "empty")
    assert tokens(nothing["on"]) == tokens(found["off"])
    warm = EvalConfig(count=6, deployments=("off", "on"), rollout=RolloutSettings(temperature=1.0), repeats=2)
    found = played(warm, tmp_path / "empty")
    assert tokens(found["on"]) == tokens(found["off"])


def test_v4_no_deployment_changes_a_byte_of_the_bank(bank: Path) -> None:
    before = tree(bank)
    played(SMALL, bank)
    assert tree(bank) == before


def test_an_evaluation_wants_a_bank_that_cannot_be_written(bank: Path) -> None:
    config = replace(SMALL, deployments=("on",))
    with SkillBank.open(bank) as opened, pytest.raises(BadInput, match="read-only"):
        wait(
            evaluate(
                config, eval_rows(config, material()), SearchingSolver(), material().searcher, AnswerScorer("em"),
                opened, MemoryRecords(),
            )
        )  # fmt: skip
    with pytest.raises(BadInput, match="--bank"):
        played(config, None)


def test_d7_cards_from_questions_of_the_evaluation_are_refused_by_name(bank: Path) -> None:
    rows = eval_rows(SMALL, material())
    with SkillBank.open(bank) as opened:
        leaked = opened.add(SkillCard("Say it at once.", question_sha256=question_sha256(rows[3].question)))
    with pytest.raises(BadInput, match=rf"1 cards of .* {leaked.id}"):
        played(SMALL, bank)
    assert played(replace(SMALL, deployments=("off",)), None)


def test_the_gain_is_that_of_the_content_and_not_of_the_length(bank: Path) -> None:
    found = played(EvalConfig(count=30), bank)
    table = score_table([Column(name, episodes, name) for name, episodes in found.items()])
    gain = {one.name: one.differences[MICRO].value for one in table.contrasts}
    assert gain["retrieval gain"] == gain["content of the cards"] > 0.3 and gain["placebo"] == 0.0


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_results_do_not_depend_on_the_size_of_the_batch(bank: Path, temperature: float) -> None:
    """SkillRL's issue 68: 0.84, then 0.77 and 0.52, as the batch of the evaluation grew."""
    config = EvalConfig(count=16, repeats=2, rollout=RolloutSettings(temperature=temperature))
    rows = eval_rows(config, material())
    rows[9] = replace(rows[9], question=rows[2].question)  # the same question twice
    by_one, by_eight = MemoryRecords(), MemoryRecords()
    played(config, bank, records=by_one, rows=rows, batch=1, workers=1)
    played(config, bank, records=by_eight, rows=rows, batch=8, workers=None)
    assert by_one.items == by_eight.items


def test_s33_what_was_played_is_not_played_again_and_counts_once(bank: Path) -> None:
    config = EvalConfig(count=6, repeats=2, deployments=("on",), rollout=RolloutSettings(temperature=1.0))
    whole, half = MemoryRecords(), MemoryRecords()
    played(config, bank, records=whole)
    half.append_many(list(whole.items.items())[:7])
    solver = Recording(SearchingSolver())
    played(config, bank, records=half, solver=solver)
    assert half.items == whole.items and len([key for key in half.items if "/eval/" in key]) == 12
    assert len([request for request in solver.requests if len(request.messages) == 1]) == 6  # 3 whole questions
    done = Recording(SearchingSolver())
    played(config, bank, records=half, solver=done)
    assert not done.requests and half.items == whole.items


def test_the_run_card_names_what_must_be_equal(bank: Path) -> None:
    rows = eval_rows(SMALL, material())
    card = run_card(SMALL, rows, material().searcher, AnswerScorer("em"))
    assert card["questions"] == 9 and card["corpus_digest"] == material().searcher.digest
    assert (card["k"], card["turns"], card["scorer"], card["temperature"]) == (3, 10, "em", 0.0)
    other = run_card(SMALL, rows[:8], material().searcher, AnswerScorer("em"))
    assert other["questions_digest"] != card["questions_digest"]


def test_settings_that_cannot_be_used_are_one_sentence() -> None:
    for changes, said in (
        ({"deployments": ()}, "at least one deployment"),
        ({"deployments": ("on", "on")}, "each once"),
        ({"deployments": ("half",)}, "off, on, placebo"),
        ({"scorer": "judge"}, "needs judge"),
        ({"count": 0}, "count"),
        ({"repeats": 0}, "repeats"),
    ):
        with pytest.raises(BadInput, match=said):
            EvalConfig(**changes)  # type: ignore[arg-type]
    config = EvalConfig(deployments=("off",), seed=3)
    assert EvalConfig.from_json(config.to_json()) == config
    with pytest.raises(BadInput, match="unknown settings"):
        EvalConfig.from_json({"colour": 1})
    with pytest.raises(BadInput, match="needs questions"):
        eval_rows(EvalConfig(data="none"), material())


# --- the placebo


@given(st.integers(0, 400), st.integers(0, 2**40))
@settings(max_examples=60, deadline=None)
def test_filler_has_the_length_that_is_asked_for(length: int, seed: int) -> None:
    text = filler(length, seed)
    assert len(text) == length and text == filler(length, seed) and text.strip() == text and "<" not in text


def test_the_placebo_keeps_frame_and_length_and_nothing_that_the_cards_say(bank: Path) -> None:
    with SkillBank.open(bank, read_only=True) as opened:
        real = SkillRetriever(opened).block("Which town?")
        other = PlaceboRetriever(SkillRetriever(opened), 5).block("Which town?")
        assert retriever_for("placebo", opened, seed=5).block("Which town?") == other
        assert retriever_for("off", opened).block("Which town?") == SkillBlock()
    assert len(other.text) == len(real.text) and [len(line) for line in other.text.split("\n")] == [
        len(line) for line in real.text.split("\n")
    ]
    frame = ("<skills>", "[1] ", "    Use when: ", "</skills>")
    assert all(mark in other.text and mark in real.text for mark in frame)
    for gone in ("Decompose", "search for each", "town and not", "{"):
        assert gone in real.text and gone not in other.text
    assert placebo_block(SkillBlock()) == SkillBlock()
    with pytest.raises(BadInput, match="a deployment is one of"):
        retriever_for("both", None)
    with pytest.raises(BadInput, match="reads a skill bank"):
        retriever_for("on", None)


# --- the table


def episode(set_: str, number: int, success: bool | None) -> Episode:
    task = Task("SESA", f"{set_}/{number}", set_, "eval")
    status = Status.OK if success is not None else Status.UNSCORED
    return Episode(task, (), "", float(bool(success)), success, status)


def column(name: str, role: str, **sets: list[bool | None]) -> Column:
    found = [episode(set_, number, won) for set_, list_ in sets.items() for number, won in enumerate(list_)]
    return Column(name, found, role)


def test_v5_the_table_has_every_set_both_means_mcnemar_and_paired_intervals() -> None:
    T, F = True, False
    columns = [
        column("ssp", "baseline", a=[F] * 8, b=[T, F, F, F]),
        column("off", "off", a=[T, F, F, F, F, F, F, F], b=[T, T, F, F]),
        column("on", "on", a=[T, T, T, T, F, F, F, F], b=[T, T, T, F]),
        column("placebo", "placebo", a=[T, F, F, F, F, F, F, F], b=[F, T, F, F]),
    ]
    table = score_table(columns)
    assert table.rows == ("a", "b", MICRO, MACRO)
    assert table.success["on"]["a"].value == 0.5 and table.success["on"]["b"].value == 0.75
    assert table.success["on"][MICRO].value == pytest.approx(7 / 12)
    assert table.success["on"][MACRO].value == pytest.approx((0.5 + 0.75) / 2)
    found = {one.name: one for one in table.contrasts}
    assert set(found) == {"parametric carry-over", "retrieval gain", "placebo", "content of the cards"}
    gain, carried = found["retrieval gain"], found["parametric carry-over"]
    assert gain.differences[MICRO].value == pytest.approx(4 / 12)
    assert gain.differences[MACRO].value == pytest.approx((3 / 8 + 1 / 4) / 2)
    assert carried.differences[MICRO].value == pytest.approx(2 / 12)
    test = gain.tests[MICRO]
    assert test is not None and (test.only_a, test.only_b, test.p) == (0, 4, 2 * 0.5**4)
    expected = stats.mcnemar({str(n): n < 1 for n in range(8)}, {str(n): n < 4 for n in range(8)})
    assert gain.tests["a"] == expected
    low, high = gain.differences[MICRO].low, gain.differences[MICRO].high
    assert low is not None and high is not None and 0 <= low < 4 / 12 < high <= 1
    assert "BCa" in gain.differences[MICRO].method and stats.RESAMPLES + 1 == 10_000
    assert score_table(columns) == table and table.to_json()["sets"] == ("a", "b")


def test_unscored_is_not_wrong_and_repeats_are_no_independent_trials() -> None:
    one = score_table([column("off", "off", a=[True, None, False]), column("on", "on", a=[None, True, True])])
    assert one.success["off"]["a"].value == 0.5 and one.success["off"]["a"].unscored == 1
    difference = one.contrasts[0].differences["a"]
    assert (difference.value, difference.n, difference.unscored) == (1.0, 1, 2)
    twice = [
        Column(n, [episode("a", 0, True), episode("a", 0, won), episode("a", 1, won)], n)
        for n, won in (("off", False), ("on", True))
    ]
    table = score_table(twice)
    assert table.success["off"]["a"].n == 2 and table.contrasts[0].tests["a"] is None


def test_evaluations_on_different_questions_are_not_compared() -> None:
    with pytest.raises(BadInput, match=r"did not play the same questions: 'SESA/a/1"):
        score_table([column("off", "off", a=[True, False]), column("on", "on", a=[True])])
    with pytest.raises(BadInput, match="one name"):
        score_table([column("off", "off", a=[True])] * 2)


def test_macro_means_weigh_sets_alike_and_cover_the_truth() -> None:
    found = macro_mean({"big": [1.0] * 90 + [0.0] * 10, "small": [0.0, 1.0]}, seed=1)
    assert found.value == pytest.approx(0.7) and found.n == 102
    assert found.low is not None and found.high is not None and found.low < 0.7 < found.high
    # The standard error of the small set dominates: sqrt(0.25 / 2) / 2 = 0.18.
    assert found.high - found.low == pytest.approx(2 * 1.96 * math.sqrt(0.125 + 0.0009) / 2, abs=0.25)
    assert macro_mean({"a": [1.0, 0.0], "b": [None]}).value is None, "a set that nobody scored is not 0"
    assert macro_mean({}).value is None and macro_mean({"a": [1.0], "b": [0.0]}).low is None
    one = macro_mean({"a": [1.0, 0.0] * 200})
    assert one.high - one.low == pytest.approx(2 * 1.96 * 0.5 / 20, abs=0.006)  # type: ignore[operator]
    assert macro_mean({"a": [1.0, 0.0, None]}, 4) == macro_mean({"a": [1.0, 0.0, None]}, 4)
    assert scoring.CONTRASTS[0] == ("parametric carry-over", "baseline", "off")
