"""Priming a bank, and what consolidation gives up."""

from __future__ import annotations

import json

import pytest

from metagym.errors import BadInput, BankReadOnly
from metagym.sesa import SkillBank, SkillCard
from metagym.sesa.maintenance import Kept, Upkeep, consolidate
from metagym.sesa.priming import Primed, prime
from metagym.sesa.retrieval import SkillRetriever
from metagym.sesa.skillmd import write_skill
from tests.unit.sesa.cards import lesson, near


@pytest.fixture
def bank(tmp_path):
    with SkillBank.open(tmp_path / "bank") as opened:
        yield opened


def hand_folder(tmp_path, *cards: SkillCard):
    for card in cards:
        (tmp_path / "hand" / card.name).mkdir(parents=True)
        (tmp_path / "hand" / card.name / "SKILL.md").write_text(write_skill(card), "utf-8")
    return tmp_path / "hand"


def test_p1_cards_are_hand_and_mined_without_duplicates_each_with_its_source(bank, tmp_path):
    hand = hand_folder(tmp_path, lesson(1), lesson(2))
    mined = [lesson(2), near(lesson(1)), lesson(3), lesson(4), lesson(4)]
    done = prime(bank, hand, mined)
    assert set(done.hand) == {lesson(1).id, lesson(2).id} and done.mined == (lesson(3).id, lesson(4).id)
    assert (done.duplicates, done.refused) == (3, 0)
    assert len(bank) == len(done.hand) + len(done.mined) == 7 - done.duplicates
    sources = {entry.card.id: entry.card.source for entry in bank.entries()}
    assert sources == {lesson(n).id: "hand" if n < 3 else "bootstrap" for n in (1, 2, 3, 4)}


def test_p2_priming_twice_changes_nothing(bank, tmp_path):
    hand, mined = hand_folder(tmp_path, lesson(1), lesson(2)), [near(lesson(1)), lesson(3)]
    prime(bank, hand, mined)
    before = (bank.seq, bank.digest)
    assert prime(bank, hand, mined) == Primed(duplicates=4)
    assert (bank.seq, bank.digest) == before


def test_p3_hand_written_wins_over_a_mined_near_copy_in_either_order(tmp_path):
    for name, steps in (
        ("together", [([near(lesson(1))], [lesson(1)])]),
        ("mined first", [([], [lesson(1)]), ([near(lesson(1))], [])]),
    ):
        with SkillBank.open(tmp_path / name) as bank:
            for hand, mined in steps:
                prime(bank, hand, mined)
            assert [entry.card for entry in bank.entries("active")] == [near(lesson(1), "hand")], name


def test_p4_an_empty_prime_is_allowed_and_adds_nothing_to_a_prompt(bank):
    assert prime(bank) == Primed() and bank.seq == 0 and bank.search("Who?", 3) == ()
    assert "Question: Who?" == SkillRetriever(bank).block("Who?").text + "Question: Who?"


def test_p5_a_bad_hand_file_stops_priming_before_anything_is_added(bank, tmp_path):
    hand = hand_folder(tmp_path, lesson(1), lesson(2))
    bad = hand / lesson(2).name / "SKILL.md"
    bad.write_text(bad.read_text().replace('source: "failure"', 'source: "oracle"'))
    with pytest.raises(BadInput, match=rf"{lesson(2).name}/SKILL.md, line 4: field source is one of hand"):
        prime(bank, hand, [lesson(5)])
    lines = tmp_path / "mined.jsonl"
    lines.write_text(json.dumps(lesson(1).to_json()) + '\n{"description": ""}\n')
    with pytest.raises(BadInput, match=r"mined\.jsonl, line 2: description must say what to do"):
        prime(bank, [lesson(4)], lines)
    with pytest.raises(BadInput, match="priming takes SkillCards or a path, got str"):
        prime(bank, ["Do it."])  # type: ignore[list-item]
    assert bank.seq == 0


def test_d7_priming_obeys_the_list_of_evaluation_questions(bank):
    bank.deny(["Who?"])
    assert prime(bank, [lesson(1)], [lesson(2, question="who")]) == Primed(hand=(lesson(1).id,), refused=1)


# --- consolidation


def used(bank: SkillBank, number: int, uses: int, wins: int, step: int = 0) -> None:
    bank.record_uses([(lesson(number).id, n < wins) for n in range(uses)], step=step)


def test_cards_that_seldom_help_are_retired_after_enough_uses(bank):
    bank.add_many(lesson(number) for number in range(4))
    bank.add(lesson(9, "hand"))
    for number, uses, wins in ((0, 7, 0), (1, 8, 1), (2, 8, 2), (9, 50, 0)):
        used(bank, number, uses, wins)
    assert [round(bank.entry(lesson(n).id).score, 3) for n in (0, 1, 2, 3, 9)] == [0.111, 0.2, 0.3, 0.5, 0.019]
    assert consolidate(bank) == Kept(retired=(lesson(1).id,))  # 0: too few uses; 2: not below 0.3; 9: by hand
    entry = bank.entry(lesson(1).id)
    assert (entry.status, entry.why) == ("retired", "score 0.200 after 8 uses")
    assert consolidate(bank) == Kept()


def test_cards_that_nobody_needs_are_retired_after_some_steps(bank):
    bank.add_many([lesson(1), lesson(2, created_step=40), lesson(3), lesson(4, "hand")])
    used(bank, 3, 1, 1, step=45)
    rules = Upkeep(unused_steps=20)
    assert consolidate(bank, rules, step=50).retired == (lesson(1).id,)
    assert consolidate(bank, rules, step=60).retired == (lesson(2).id,)
    with pytest.raises(BadInput, match="unused_steps needs the present step"):
        consolidate(bank, rules)


def test_d5_over_the_cap_the_worst_go_and_nothing_is_deleted(bank):
    bank.add_many([*(lesson(number) for number in range(6)), *(lesson(number, "hand") for number in (10, 11))])
    for number, uses, wins, step in (
        (0, 1, 1, 5),
        (1, 2, 0, 5),
        (2, 2, 1, 9),
        (3, 0, 0, 0),
        (4, 2, 1, 3),
        (5, 5, 5, 1),
    ):
        used(bank, number, uses, wins, step)
    done = consolidate(bank, Upkeep(cap=5))
    assert done.evicted == (lesson(1).id, lesson(3).id, lesson(4).id)  # 1/4; then of three at 1/2 the longest unused
    assert len(bank) == 5 and len(bank.entries()) == 8 and bank.entry(lesson(3).id).status == "evicted"
    done = consolidate(bank, Upkeep(cap=1))
    assert len(done.evicted) == 3 and done.over_cap == 1
    assert {entry.card.source for entry in bank.entries("active")} == {"hand"}
    assert bank.add(lesson(1)).of == lesson(1).id  # an evicted lesson is not learnt again


def test_near_copies_below_the_threshold_may_be_merged_and_opposites_never(bank):
    older = SkillCard("Search for the name of the film and of its director.", "a film is asked for", source="failure")
    newer = SkillCard("Search the film's name and the name of its director.", "a film is asked for", source="failure")
    other = SkillCard(
        "Never search for the name of the film and its director.", "a film is asked for", source="failure"
    )
    bank.add_many([older, newer, other, lesson(1), lesson(2, "hand")])
    assert len(bank) == 5
    bank.record_uses([(older.id, True), (newer.id, True), (newer.id, False)])
    done = consolidate(bank, Upkeep(merge_at=0.6))
    assert done == Kept(merged=((newer.id, older.id),))
    entry = bank.entry(older.id)
    assert (entry.uses, entry.wins, entry.absorbed) == (3, 2, (newer.id,))
    assert bank.entry(other.id).status == "active" and consolidate(bank, Upkeep(merge_at=0.6)) == Kept()


@pytest.mark.parametrize("bad", [{"cap": 0}, {"min_uses": 0}, {"min_score": 2}, {"merge_at": 0}, {"unused_steps": 0}])
def test_rules_that_mean_nothing_are_refused(bad):
    with pytest.raises(BadInput):
        Upkeep(**bad)


def test_d7_nobody_consolidates_a_bank_in_evaluation(bank, tmp_path):
    bank.add(lesson(1))
    with SkillBank.open(bank.path, read_only=True) as reader:
        for attempt in (lambda: consolidate(reader), lambda: prime(reader, [lesson(2)])):
            with pytest.raises(BankReadOnly):
                attempt()


def test_s39_a_slow_curation_loses_no_card_that_came_meanwhile(tmp_path):
    """What was decided on an old view of the bank is written into the bank as it is now."""
    with SkillBank.open(tmp_path / "b") as slow, SkillBank.open(tmp_path / "b") as quick:
        slow.add_many([lesson(1), lesson(2)])
        view = slow.snapshot()
        quick.add_many([lesson(3), lesson(4), lesson(5)])  # while a model thinks about the view
        assert len(view.active) == 2
        slow.retire(lesson(1).id, "the model said so")
        slow.add(lesson(6))
        quick.refresh()
        ids = [entry.card.id for entry in quick.entries("active")]
        assert ids == [lesson(n).id for n in (2, 3, 4, 5, 6)] == [entry.card.id for entry in slow.entries("active")]
        assert quick.digest == slow.digest
