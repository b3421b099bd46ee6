"""Baselines and ablations are switches of one loop (B1 to B3, B5, B6); B4 stands with the run folders."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from metagym.answers import AnswerScorer
from metagym.chat import scripted
from metagym.chat.types import Request
from metagym.sesa.config import SWITCHES, SesaConfig, switched
from metagym.sesa.crew import Crew
from metagym.sesa.evaluate import EvalConfig, eval_rows, evaluate
from metagym.sesa.filters import FilterSettings
from metagym.sesa.maintenance import Upkeep
from metagym.sesa.materials import Material
from metagym.sesa.retrieval import SkillRetriever
from metagym.sesa.scores import MICRO, Column, score_table
from metagym.sesa.skills import SkillBank
from metagym.sesa.slots import MemoryRecords
from metagym.sesa.stand_ins import RaisingJudge, ScriptedSolver, SearchingSolver
from tests.unit.sesa.loops import SELF_PLAY, material, play, recording, settings, texts
from tests.unit.sesa.worlds import DECOMPOSE, wait


def first_prompts(tmp_path: Path, *switches: str) -> list[str]:
    config = settings(*switches, rounds=1)
    crew, heard = recording(config)
    play(config, tmp_path / "-".join(switches or ("sesa",)), crew=crew)
    return sorted(request.messages[0].content for request in heard["challenger"].requests)


def test_b1_at_step_0_the_challenger_is_told_the_same_in_every_self_play_system(tmp_path: Path) -> None:
    told = first_prompts(tmp_path)
    assert len(told) > 4
    for name in SELF_PLAY:
        assert first_prompts(tmp_path, name) == told, name
    assert first_prompts(tmp_path, "challenger-sees-memory") != told


def test_b2_all_switches_off_and_1_minus_accuracy_is_the_ssp_run_record_for_record(tmp_path: Path) -> None:
    by_hand = settings(distil=False, train_retrieval=False, hand=None, shape="one_minus_acc", rounds=3)
    ssp = settings("ssp", rounds=3)
    assert not ssp.uses_bank and replace(ssp, switches=()) == by_hand
    assert texts(play(by_hand)) == texts(play(ssp, tmp_path / "never"))
    assert not (tmp_path / "never").exists(), "SSP has no bank"
    for slot in (slot for slots in play(ssp).rounds for slot in slots if slot.rate is not None):
        assert slot.paid is not None and slot.paid.reward == 1 - slot.rate


def test_b3_the_fixed_set_never_calls_a_challenger(tmp_path: Path) -> None:
    config = settings("skillrl", rounds=3)
    crew = replace(Crew.of(config, material()), challenger=RaisingJudge(), verifier=RaisingJudge())
    loop = play(config, tmp_path / "bank", crew=crew)
    slots = [slot for slots in loop.rounds for slot in slots]
    assert all(slot.challenge is None and slot.paid and slot.paid.reward is None for slot in slots)
    assert {slot.paid.reason for slot in slots if slot.paid} == {"fixed"}
    assert not any("/challenge" in key for key in texts(loop))
    with SkillBank.open(tmp_path / "bank", read_only=True) as bank:
        assert any(entry.card.source == "failure" for entry in bank.entries())
    asked = [slot.question for slot in slots]
    assert len(set(asked)) == len(asked) == 12, "the questions of the set come in turn"


@pytest.mark.parametrize("name", [name for name in SWITCHES if name not in ("ssp", "skillrl")])
def test_each_ablation_changes_its_own_part_and_no_other(tmp_path: Path, name: str) -> None:
    config, whole = switched(SesaConfig(), name), SesaConfig()
    changed = {field for field in config.to_json() if config.to_json()[field] != whole.to_json()[field]}
    assert changed == {*SWITCHES[name][1], "switches"} and config.switches == (name,)
    loop = play(settings(name, questions=7), tmp_path / "bank")
    banks = [loop.records.get(f"round/{number}/bank") for number in range(2)]
    tried = [slot.attempt for slots in loop.rounds for slot in slots if slot.attempt]
    retrieved = any(one.skills.ids for one in tried)
    distilled = sum(len(one["distilled"]["added"]) for one in banks)
    assert retrieved == (name != "no-retrieval-in-training")
    assert bool(distilled) == (name != "no-failure-distillation")
    rewards = {slot.paid.reward for slots in loop.rounds for slot in slots if slot.paid and slot.rate is not None}
    assert (rewards == {1.0}) == (name == "no-frontier-shaping")


def test_f3_the_choice_of_hops_stays_where_it_was_under_constant_rewards(tmp_path: Path) -> None:
    """Only rejections could teach; without them equal rewards teach nothing."""
    config = settings("no-frontier-shaping", hand=None, distil=False, train_retrieval=False, rounds=4)
    found = material()
    fine = tuple(one for one in found.side("train") if all(found.riddler.riddle(one[0], n, _Fixed()) for n in (1, 2)))
    loop = play(replace(config, hops=(1, 2)), material=replace(found, answers=fine))
    assert all(summary["hops"] == [0.5, 0.5] for summary in loop.summaries if not summary["questions"]["reasons"])


class _Fixed:
    """Shuffles nothing: enough to ask whether a riddle can be made at all."""

    def shuffle(self, items: list[object]) -> None:
        return None


def test_b5_a_decompose_card_is_worth_its_searches_on_the_set_that_ships(tmp_path: Path) -> None:
    """The same demonstration as on MuSiQue (test_stand_ins.py), with the questions that everybody has."""
    with SkillBank.open(tmp_path / "bank") as bank:
        bank.add(DECOMPOSE)
    config = EvalConfig(hops=(2, 3), count=40, deployments=("off", "on"))
    with SkillBank.open(tmp_path / "bank", read_only=True) as bank:
        found = wait(
            evaluate(config, eval_rows(config, material()), SearchingSolver(), material().searcher, AnswerScorer("em"),
                     bank, MemoryRecords())
        )  # fmt: skip
    table = score_table([Column(name, episodes, name) for name, episodes in found.items()])
    on, off = table.success["on"][MICRO].value, table.success["off"][MICRO].value
    assert on is not None and off is not None and on >= 0.6 and off <= 0.2


# --- B6: co-evolution of scripted actors. It tests the wiring of the loop, not the claim of SESA's paper.

KINDS = (1, 2, 3, 4, 5, 6)
THINGS = dict(zip(KINDS, ("harbour", "violin", "comet", "orchard", "glacier", "lantern"), strict=True))
BASE = {1: 1.0, 2: 0.35} | dict.fromkeys(KINDS[2:], 0.0)
"""Chance of a right answer without cards: one kind is known, one can be learnt, the others are out of reach."""
CARDS = 12
"""Cards per question; a card for the kind of the question adds 0.05."""


def word(number: int) -> str:
    return "".join("bcdfghklmn"[int(digit)] + "a" for digit in f"{number:04d}")


def kind_in(text: str) -> int:
    return next(kind for kind, thing in THINGS.items() if thing in text)


def chance(question: str, skills: str) -> float:
    """Rises with the number of cards for its kind, where that kind can be learnt at all."""
    kind = kind_in(question)
    matching = sum(kind_in(line) == kind for line in skills.splitlines() if line.startswith("["))
    return min(1.0, BASE[kind] + 0.05 * matching) if BASE[kind] else 0.0


def asks(request: Request) -> str:
    """Asks for the seed answer by its number, as many facts deep as it was told."""
    order = re.search(r"chain: (\d)\nAnswer: (\w+)", request.messages[0].content)
    assert order is not None
    number = "".join(str("bcdfghklmn".index(letter)) for letter in order[2][::2])
    return f"<question> {question(int(order[1]), number)} </question>"


def question(kind: int, number: str) -> str:
    thing = THINGS[kind]
    return f"Which {thing} of the great {thing} book is the {thing} that bears the number {number} on its {thing} page?"


def teaches(request: Request) -> str:
    """One of many lessons for the kind that failed."""
    thing = THINGS[kind_in(request.messages[-1].content)]
    lesson = word((request.seed or 0) % 9973)
    content = (
        f"In a {thing} book look at the mark {lesson} of the {thing} first.",
        f"Questions on a {thing} of the {thing} book.",
        "Looking at the whole at once.",
        "{thing} {mark}",
    )
    return json.dumps(dict(zip(("description", "trigger", "anti_pattern", "query_template"), content, strict=True)))


def final_accuracy(folder: Path, seed: int, rounds: int, *switches: str) -> float:
    """Expected share of right answers over all kinds, with the bank as it is after the run."""
    world = Material("things", material().searcher, tuple((word(number),) for number in range(400)))
    config = settings(
        *switches, rounds=rounds, questions=6, rollouts=4, hops=KINDS, hop_rate=4.0, hand=None, dedup=1.0, seed=seed,
        held_out="none", probe_fraction=0.0, retrieve_k=CARDS,
        upkeep=Upkeep(min_score=0.0),
        filters=FilterSettings(verify=False, min_searches=0),
    )  # fmt: skip
    solver = ScriptedSolver(chance, lambda asked: word(int(re.findall(r"number (\d+)", asked)[0])))
    crew = Crew(scripted(asks, id="asks"), solver, scripted(teaches, id="teaches"), None, AnswerScorer("em"))
    play(config, folder, crew=crew, material=world)
    with SkillBank.open(folder, read_only=True) as bank:
        retriever = SkillRetriever(bank, CARDS)
        asked = [question(kind, f"{number:04d}") for kind in KINDS for number in range(5)]
        return math.fsum(chance(one, retriever.block(one).text) for one in asked) / len(asked)


def wilcoxon(differences: Sequence[float]) -> float:
    """One-sided exact p of Wilcoxon's signed-rank test for a positive shift; zeros are dropped (Wilcoxon 1945)."""
    known = sorted((one for one in differences if one), key=abs)
    ranks: list[float] = []
    for one in known:
        alike = [at for at, other in enumerate(known, 1) if abs(other) == abs(one)]
        ranks.append(sum(alike) / len(alike))
    observed = sum(rank for rank, one in zip(ranks, known, strict=True) if one > 0)
    counts = {0.0: 1}
    for rank in ranks:
        counts = {
            total: counts.get(total, 0) + counts.get(total - rank, 0)
            for total in {*counts, *(total + rank for total in counts)}
        }
    return sum(count for total, count in counts.items() if total >= observed) / 2 ** len(ranks)


def test_the_signed_rank_test_agrees_with_its_tables() -> None:
    assert wilcoxon([1, 2, 3, 4, 5]) == 1 / 32 and wilcoxon([-1, -2, -3]) == 1.0
    assert wilcoxon([1, -2, 3, 4, 5]) == pytest.approx(3 / 32)  # W+ = 13: {}, {1}, {2} are taken off 15


def test_b6_cards_raise_the_final_accuracy(tmp_path: Path) -> None:
    base = math.fsum(BASE.values()) / len(BASE)
    assert final_accuracy(tmp_path / "none", 0, 1, "no-failure-distillation") == pytest.approx(base)
    assert final_accuracy(tmp_path / "sesa", 0, 6) > base + 0.02


@pytest.mark.slow
def test_b6_co_evolution_beats_both_ablations_over_twenty_seeds(tmp_path: Path) -> None:
    found = [final_accuracy(tmp_path / f"sesa-{seed}", seed, 12) for seed in range(20)]
    for name in ("no-failure-distillation", "no-frontier-shaping"):
        others = [final_accuracy(tmp_path / f"{name}-{seed}", seed, 12, name) for seed in range(20)]
        gains = [one - other for one, other in zip(found, others, strict=True)]
        p = wilcoxon(gains)
        print(f"{name}: mean gain {math.fsum(gains) / len(gains):+.3f}, one-sided p = {p:.2g}")
        assert p < 0.01
