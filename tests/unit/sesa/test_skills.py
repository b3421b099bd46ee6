"""The bank: what it keeps, what it refuses, what others may see of it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metagym.errors import BadInput, BankReadOnly, DeniedCard, StoreCorrupt, StoreError, StoreLocked, UnknownName
from metagym.sesa import SkillBank, SkillCard, files, views
from metagym.sesa.cards import question_sha256
from metagym.sesa.dedup import Added, Duplicate, Refused
from metagym.sesa.embedders import HashEmbedder
from metagym.sesa.importers import read_cards
from metagym.sesa.intake import TakenIn, take_in
from metagym.sesa.opposites import opposites
from metagym.sesa.repair import SET_ASIDE, repair, rewind
from metagym.sesa.state import BankEntry
from metagym.sesa.vectors import close_pairs, cosine
from metagym.sesa.views import BankWarning
from tests.unit.sesa.cards import lesson, near


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "bank"


def tree(folder: Path) -> dict[str, str]:
    """Every file of a folder with the digest of its bytes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def filled(folder: Path, count: int = 4) -> list[str]:
    with SkillBank.open(folder) as bank:
        return [outcome.id for outcome in bank.add_many(lesson(number) for number in range(count))]


def spread(bank: SkillBank) -> None:
    """The invariant: no two active cards are near copies, unless they are opposites."""
    entries = bank.entries("active")
    rows = bank.vectors(entry.card.id for entry in entries)
    for one, other, score in close_pairs(rows, rows, bank.threshold):
        assert one == other or opposites(entries[one].card, entries[other].card), (one, other, score)


# --- adding


def test_what_was_added_is_there_after_reopening(folder):
    with SkillBank.open(folder) as bank:
        card = lesson(1, source="hand", notes="two\nlines", question="Who?", parents=("0" * 16,))
        assert bank.add(card) == Added(card.id) and bank.entry(card.id).card == card
        assert (bank.seq, len(bank), card.id in bank, "x" in bank) == (1, 1, True, False)
        digest = bank.digest
    with SkillBank.open(folder) as bank:
        assert bank.entry(card.id).card == card and (bank.seq, bank.digest) == (1, digest)
    assert json.loads((folder / "bank.json").read_text()) == {
        "format": "metagym-skill-bank",
        "version": 1,
        "embedder": {"name": "hash", "version": "1", "dim": 128, "sha256": HashEmbedder().sha256},
        "dedup": {"metric": "cosine", "threshold": 0.85},
    }
    assert set(os.listdir(folder)) == {
        "bank.json",
        "bank.lock",
        "cards",
        "journal.jsonl",
        "journal.jsonl.lock",
        "vectors.npz",
    }


def test_d3_the_same_batch_twice_is_the_same_bank(folder):
    batch = [lesson(number) for number in range(5)] + [near(lesson(2)), lesson(3)]
    with SkillBank.open(folder) as bank:
        first = bank.add_many(batch)
        assert [type(outcome) for outcome in first] == [Added] * 5 + [Duplicate] * 2
        assert first[5] == Duplicate(near(lesson(2)).id, lesson(2).id, first[5].cosine) and 0.85 <= first[5].cosine < 1
        assert first[6] == Duplicate(lesson(3).id, lesson(3).id, 1.0)
        before = (bank.seq, bank.digest)
        assert all(isinstance(outcome, Duplicate) for outcome in bank.add_many(batch))
        assert (bank.seq, bank.digest) == before
        spread(bank)


def test_d3_exact_copies_leave_the_same_ids_in_any_order(tmp_path):
    batch = [lesson(number % 6) for number in range(18)]
    ids = []
    for name, order in (("a", batch), ("b", batch[::-1]), ("c", batch[::2] + batch[1::2])):
        with SkillBank.open(tmp_path / name) as bank:
            bank.add_many(order)
            ids.append({entry.card.id for entry in bank.entries()})
    assert ids[0] == ids[1] == ids[2] and len(ids[0]) == 6


def test_d3_one_by_one_and_as_a_batch_come_to_the_same(tmp_path):
    cards = [card for number in range(12) for card in (lesson(number), near(lesson(number)))]
    with SkillBank.open(tmp_path / "a") as one, SkillBank.open(tmp_path / "b") as other:
        assert [one.add(card) for card in cards] == other.add_many(cards)
        assert one.digest == other.digest


def test_d3_a_cosine_that_is_the_threshold_itself_is_a_near_copy(folder):
    with SkillBank.open(folder, dedup=1.0) as bank:
        first = SkillCard("Look up the", "river of the town first")
        assert isinstance(bank.add(first), Added) and isinstance(bank.add(lesson(1)), Added)
        assert isinstance(bank.add(near(lesson(1))), Added)
        same_words = SkillCard("Look up the river", "of the town first")
        assert bank.add(same_words) == Duplicate(same_words.id, first.id, 1.0)


def test_d3_what_was_given_up_keeps_its_status_and_the_active_card_is_named(folder):
    old = lesson(1)
    by_hand = near(old, "hand")
    with SkillBank.open(folder) as bank:
        bank.add(old)
        bank.retire(old.id)
        assert bank.add(by_hand) == Added(by_hand.id)
        assert bank.entry(old.id).status == "retired"  # it has not given way now, it was gone
        nearer = replace(old, trigger=old.trigger + "s")
        told = bank.add(nearer)
        table = dict(zip((old.id, by_hand.id), bank.vectors([old.id, by_hand.id]), strict=True))
        [own] = bank.embedder.embed([nearer.text])
        assert cosine(own, table[old.id]) > cosine(own, table[by_hand.id])
        assert isinstance(told, Duplicate) and told.of == by_hand.id
        again = bank.add(replace(old, source="hand"))
        assert again == Duplicate(old.id, old.id, 1.0) and bank.entry(old.id).status == "retired"
        spread(bank)


def test_d3_a_lesson_that_was_given_up_is_not_learnt_again(folder):
    with SkillBank.open(folder) as bank:
        bank.add(lesson(1))
        assert bank.retire(lesson(1).id) is True and bank.retire(lesson(1).id) is False
        assert bank.add(lesson(1)) == Duplicate(lesson(1).id, lesson(1).id, 1.0)
        assert bank.add(near(lesson(1))).of == lesson(1).id
        assert (len(bank), len(bank.entries()), bank.entry(lesson(1).id).status) == (0, 1, "retired")


def test_p3_what_a_person_writes_wins_whenever_it_comes(folder):
    mined, hand = lesson(1, "bootstrap"), near(lesson(1), "hand")
    with SkillBank.open(folder) as bank:
        bank.add_many([mined, lesson(2)])
        assert bank.add(hand) == Added(hand.id, superseded=(mined.id,))
        assert bank.entry(mined.id).status == "superseded" and bank.entry(mined.id).replaced_by == hand.id
        assert bank.add(mined) == Duplicate(mined.id, hand.id, 1.0)
        assert bank.add(near(hand, "hand")).of == hand.id
        assert [entry.card.id for entry in bank.entries("active")] == [lesson(2).id, hand.id]
        spread(bank)
    with SkillBank.open(folder) as bank:
        assert bank.entry(mined.id).replaced_by == hand.id


def test_p3_a_person_may_claim_the_very_same_card(folder):
    with SkillBank.open(folder) as bank:
        bank.add(lesson(1))
        bank.retire(lesson(1).id, "score")
        assert bank.add(lesson(1, "hand")) == Duplicate(lesson(1).id, lesson(1).id, 1.0, claimed=True)
        entry = bank.entry(lesson(1).id)
        assert (entry.status, entry.card.source) == ("active", "hand")
        seq = bank.seq
        assert bank.add(lesson(1, "hand")).claimed is False and bank.seq == seq


def test_an_edit_makes_a_new_card_that_replaces_the_old_one(folder):
    with SkillBank.open(folder) as bank:
        bank.add_many([lesson(1), lesson(2)])
        outcome = bank.replace(lesson(1).id, lesson(3))
        assert outcome == Added(lesson(3).id, (lesson(1).id,))
        card = bank.entry(lesson(3).id).card
        assert (card.source, card.parents) == ("hand", (lesson(1).id,))
        assert isinstance(bank.replace(lesson(2).id, near(lesson(3))), Duplicate)
        assert bank.entry(lesson(2).id).status == "retired"
        spread(bank)


def test_d7_an_evaluator_cannot_change_the_bank_s27(folder):
    ids = filled(folder)
    before = tree(folder)
    with SkillBank.open(folder, read_only=True) as bank:
        attempts = [
            lambda: bank.add(lesson(9)),
            lambda: bank.add_many([]),
            lambda: bank.record_use(ids[0], True),
            lambda: bank.retire(ids[0]),
            lambda: bank.merge(ids[0], ids[1]),
            lambda: bank.replace(ids[0], lesson(9)),
            lambda: bank.deny(["Who?"]),
        ]
        for attempt in attempts:
            with pytest.raises(BankReadOnly, match="opened for reading, as evaluation does"):
                attempt()
        assert bank.flush() == [] and len(bank.search("x", 3)) == 3
    assert tree(folder) == before


def test_d7_questions_kept_for_evaluation_make_no_cards(folder):
    with SkillBank.open(folder) as bank:
        assert bank.deny(["Who wrote it?"], sha256=[question_sha256("Where?")]) == 2
        assert bank.deny(["who wrote it"]) == 0
    with SkillBank.open(folder) as bank:
        bad, worse = lesson(1, question="WHO wrote  it"), lesson(2, question_sha256=question_sha256("where"))
        seq = bank.seq
        for card in (bad, worse):
            with pytest.raises(DeniedCard, match=f"card {card.id} comes from the evaluation question"):
                bank.add(card)
        outcomes = bank.add_many([bad, lesson(3, question="Who else?")])
        assert isinstance(outcomes[0], Refused) and isinstance(outcomes[1], Added)
        assert bank.seq == seq + 1


@pytest.mark.parametrize("path", [None, 3, b"bank"])
def test_c7_what_is_no_path_is_refused(path):
    with pytest.raises(BadInput, match="the path of a skill bank"):
        SkillBank.open(path)


def test_d7_an_edit_is_no_way_in_for_an_evaluation_question(folder):
    with SkillBank.open(folder) as bank:
        old = bank.add(lesson(1)).id
        bank.deny(["Who wrote it?"])
        seq = bank.seq
        with pytest.raises(DeniedCard, match="comes from the evaluation question"):
            bank.replace(old, lesson(2, question="who wrote it"))
        bank.flush()
        file = views.card_file(folder, old)
        file.write_text(views.card_text(BankEntry(lesson(2, question="who wrote it"), 1)), "utf-8")
        assert take_in(bank, read_cards(file)) == TakenIn(refused=1)
        assert bank.seq == seq and bank.entry(old).status == "active"
        file.unlink()


@pytest.mark.parametrize(
    "given",
    [{"questions": "Who?"}, {"questions": [1]}, {"sha256": "ab" * 32}, {"sha256": ["xyz"]}, {"sha256": ["AB" * 32]}],
)
def test_d7_what_is_no_list_of_questions_denies_nothing(folder, given):
    with SkillBank.open(folder) as bank:
        with pytest.raises(BadInput, match="a list of texts|a question is a text|64 hex digits"):
            bank.deny(**given)
        assert bank.seq == 0


@pytest.mark.parametrize("why", ["half a pair \ud800", "nul \0", 5])
def test_c6_a_reason_that_no_file_can_hold_is_refused_and_the_bank_stays_usable(folder, why):
    [id_, *_] = filled(folder)
    with SkillBank.open(folder) as bank:
        with pytest.raises(BadInput, match="^why "):
            bank.retire(id_, why)
        assert bank.entry(id_).status == "active"
        assert bank.retire(id_, "two\nlines") and bank.entry(id_).why == "two lines"


def test_v4_evaluation_leaves_every_byte_as_it_was(folder):
    filled(folder)
    before = tree(folder)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    with SkillBank.open(folder, read_only=True) as bank:
        assert len(bank.search("anything at all", 10)) == 4
        assert bank.snapshot().search("anything", 2) == bank.search("anything", 2)
        bank.refresh()
    assert tree(folder) == before
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


# --- using


def test_r1_a_search_gives_the_nearest_active_cards_by_score_then_id(folder):
    with SkillBank.open(folder) as bank:
        bank.add_many(lesson(number) for number in range(30))
        query = lesson(7).description
        found = bank.search(query, 5)
        assert found[0].card == lesson(7) and len(found) == 5
        assert list(found) == sorted(found, key=lambda one: (-one.score, one.card.id))
        everything = bank.search(query, 1000)
        assert len(everything) == 30 and everything[:5] == found == bank.search(query, 5)
        assert bank.search("", 3) == tuple(sorted(bank.search("", 30), key=lambda one: one.card.id)[:3])  # all tie at 0
        assert bank.search(query, 0) == ()
    with pytest.raises(BadInput, match="k is at least 0"):
        bank.search(query, -1)
    with pytest.raises(BadInput, match="a query is a text"):
        bank.search(None, 1)


def test_r3_retired_cards_never_appear(folder):
    with SkillBank.open(folder) as bank:
        bank.add_many(lesson(number) for number in range(5))
        bank.retire(lesson(2).id)
        assert lesson(2).id not in {one.card.id for one in bank.search(lesson(2).description, 10)}
        assert len(bank.search("x", 10)) == 4
        for number in (0, 1, 3, 4):
            bank.retire(lesson(number).id)
        assert bank.search("x", 10) == ()
    assert SkillBank.open(folder, read_only=True).search("x", 10) == ()


def test_r7_retrieval_writes_nothing(folder):
    filled(folder)
    with SkillBank.open(folder) as bank:
        before, state = tree(folder), (bank.seq, bank.digest)
        for number in range(20):
            bank.search(lesson(number).description, 3)
        bank.snapshot().search("x", 2)
        assert tree(folder) == before and (bank.seq, bank.digest) == state


def test_counts_stand_in_the_journal_at_once_and_in_the_file_after_a_flush(folder):
    [id_, other] = filled(folder, 2)
    path = views.card_file(folder, id_)
    with SkillBank.open(folder) as bank:
        bank.record_use(id_, True, step=3)
        bank.record_uses([(id_, False), (other, True)], step=5)
        bank.record_use(id_, True)
        assert 'uses: "0"' in path.read_text()
        with SkillBank.open(folder, read_only=True) as reader:
            entry = reader.entry(id_)
            assert (entry.uses, entry.wins, entry.last_used_step, entry.score) == (3, 2, 5, 3 / 5)
        bank.flush()
        assert 'uses: "3"' in path.read_text() and 'wins: "2"' in path.read_text()
        with pytest.raises(UnknownName, match="the bank holds no card 'nope'"):
            bank.record_uses([(id_, True), ("nope", True)])
        with pytest.raises(BadInput, match="won is True or False"):
            bank.record_use(id_, 1)  # type: ignore[arg-type]
        assert bank.entry(id_).uses == 3


def test_a_merge_keeps_the_older_id_and_adds_the_counts(folder):
    with SkillBank.open(folder) as bank:
        bank.add_many([lesson(1), lesson(2), lesson(3, "hand"), lesson(4, "hand")])
        bank.record_uses([(lesson(1).id, True), (lesson(2).id, True), (lesson(2).id, False)], step=4)
        assert bank.merge(lesson(2).id, lesson(1).id) == lesson(1).id
        kept, gone = bank.entry(lesson(1).id), bank.entry(lesson(2).id)
        assert (kept.uses, kept.wins, kept.last_used_step, kept.absorbed) == (3, 2, 4, (lesson(2).id,))
        assert (gone.status, gone.replaced_by) == ("merged", lesson(1).id)
        assert bank.merge(lesson(1).id, lesson(3).id) == lesson(3).id  # what a person wrote stays
        assert bank.add(near(lesson(2))).of == lesson(3).id
        for pair, message in (((3, 4), "both hand-written"), ((3, 3), "merged with itself"), ((2, 3), "is merged")):
            with pytest.raises(BadInput, match=message):
                bank.merge(*(lesson(number).id for number in pair))


def test_v2_a_snapshot_stays_what_it_was_and_leads_to_no_bank(folder):
    import gc

    with SkillBank.open(folder) as bank:
        bank.add_many(lesson(number) for number in range(3))
        snapshot = bank.snapshot()
        assert (snapshot.seq, snapshot.digest) == (bank.seq, bank.digest)
        found, active = snapshot.search("x", 9), snapshot.active
        bank.retire(lesson(0).id)
        bank.add_many(lesson(number) for number in range(3, 80))
        assert snapshot.search("x", 9) == found and snapshot.active == active and len(found) == 3
        seen: set[int] = set()
        todo: list = [snapshot]
        while todo:
            thing = todo.pop()
            assert not isinstance(thing, SkillBank)
            if id(thing) not in seen and not isinstance(thing, type) and type(thing).__name__ != "module":
                seen.add(id(thing))
                todo += [one for one in gc.get_referents(thing) if type(one).__name__ not in ("function", "dict")]


# --- damage, and what lies around


def test_c2_a_torn_last_line_is_dropped_with_one_warning(folder):
    ids = filled(folder)
    journal = folder / "journal.jsonl"
    whole_size = journal.stat().st_size
    with open(journal, "ab") as file:
        file.write(b'{"key":"00000005","value":{"event":"add","card":{"descr')
    with SkillBank.open(folder, read_only=True) as bank:  # a reader cannot know whether somebody is writing just now
        assert bank.seq == 4
    with pytest.warns(BankWarning, match="cut short by a kill .55 bytes.; it was never acknowledged") as caught:
        bank = SkillBank.open(folder)
    assert len(caught) == 1 and journal.stat().st_size == whole_size
    bank.add(lesson(9))
    bank.close()
    with SkillBank.open(folder) as bank:
        assert [entry.card.id for entry in bank.entries()] == [*ids, lesson(9).id]


def test_c3_damage_in_the_middle_is_an_error_with_its_line_and_repair_writes_a_copy(folder, tmp_path):
    ids = filled(folder)
    with SkillBank.open(folder) as bank:
        bank.record_use(ids[1], True)
        bank.record_use(ids[2], True)
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b"description", b"descripTion")
    journal.write_bytes(b"\n".join(lines))
    damaged = tree(folder)
    for read_only in (True, False):
        with pytest.raises(StoreCorrupt, match=r"journal\.jsonl, line 2: the record is damaged.*metagym skills repair"):
            SkillBank.open(folder, read_only=read_only)
    report = repair(folder, tmp_path / "copy")
    assert report.kept == 4 and len(report.dropped) == 2
    assert report.dropped[0].startswith("line 2: it: the record is damaged") and "line 5" in report.dropped[1]
    assert tree(folder) == damaged
    with SkillBank.open(tmp_path / "copy") as bank:
        assert [entry.card.id for entry in bank.entries()] == [ids[0], ids[2], ids[3]]
        assert bank.entry(ids[2]).wins == 1
    with pytest.raises(BadInput, match="exists already"):
        repair(folder, tmp_path / "copy")


def test_c3_a_missing_event_is_no_bank(folder):
    filled(folder)
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join(lines[:1] + lines[2:]))
    with pytest.raises(StoreCorrupt, match="holds 3 records, but event 2 is missing"):
        SkillBank.open(folder)


def test_c5_a_reader_sees_whole_events_and_a_prefix(folder):
    cards = [lesson(number) for number in range(12)]
    with SkillBank.open(folder) as writer, SkillBank.open(folder, read_only=True) as reader:
        for count, card in enumerate(cards, 1):
            writer.add(card)
            with open(folder / "journal.jsonl", "ab") as file:  # another writer in the middle of a line
                file.write(b'{"key":"0000')
            reader.refresh()
            assert [entry.card for entry in reader.entries()] == cards[:count]
            os.truncate(folder / "journal.jsonl", (folder / "journal.jsonl").stat().st_size - 12)
        assert reader.digest == writer.digest and reader.search("x", 12) == writer.search("x", 12)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_c6_a_disk_that_refuses_changes_nothing(folder, monkeypatch, number, call):
    ids = filled(folder)
    with SkillBank.open(folder) as bank:
        state = (bank.seq, bank.digest, bank.entries(), len(bank.snapshot().entries))
        bytes_before = (folder / "journal.jsonl").read_bytes()

        def refuse(*args):
            raise OSError(number, os.strerror(number))

        with monkeypatch.context() as patch:
            patch.setattr(os, call, refuse)
            for attempt in (lambda: bank.add(lesson(9)), lambda: bank.record_use(ids[0], True)):
                with pytest.raises(StoreError, match=os.strerror(number)):
                    attempt()
        assert (bank.seq, bank.digest, bank.entries(), len(bank.snapshot().entries)) == state
        assert (folder / "journal.jsonl").read_bytes() == bytes_before
        assert isinstance(bank.add(lesson(9)), Added)


def test_c6_a_view_that_cannot_be_written_leaves_no_draft(folder, monkeypatch):
    filled(folder)
    bank = SkillBank.open(folder)
    bank.add(lesson(9))

    def refuse(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(StoreError, match="No space left on device; the bank itself is unchanged"):
            bank.flush()
    assert not list(folder.rglob(".tmp"))
    bank.close()
    assert views.card_file(folder, lesson(9).id).is_file()


def manifest(folder: Path, **changes) -> bytes:
    return json.dumps(json.loads((folder / "bank.json").read_text()) | changes).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / "bank.json").unlink(), "holds a journal and no bank.json"),
        (lambda f: (f / "bank.json").write_bytes(b""), r"bank.json is no JSON: it is empty \(0 bytes\)"),
        (lambda f: (f / "bank.json").write_bytes(b"\xef\xbb\xbf{}"), "no JSON: it begins with a byte order mark"),
        (lambda f: (f / "bank.json").write_bytes(b'{"a":"\0"}'), "no JSON: it holds NUL bytes"),
        (lambda f: (f / "bank.json").write_bytes(b'{"a":"\xff"}'), "no JSON: it is not UTF-8 at byte 6"),
        (lambda f: (f / "bank.json").write_bytes(b"[]"), "is no manifest of a skill bank"),
        (lambda f: (f / "bank.json").write_bytes(manifest(f, version=2)), "is of version 2 of the format"),
        (lambda f: (f / "bank.json").write_bytes(manifest(f, embedder={"name": "hash"})), "which embedder"),
        (lambda f: (f / "bank.json").write_bytes(manifest(f, dedup={"metric": "dot"})), "does not say the threshold"),
        (lambda f: (f / "bank.json").write_bytes(b" " * 2_000_000), "is larger than 1,048,576 bytes"),
        (lambda f: ((f / "bank.json").rename(f / "x"), (f / "bank.json").symlink_to("x")), "is a symbolic link"),
        (lambda f: (f / "journal.jsonl").write_bytes(b""), "has an empty journal .0 events. beside cards of 4 events"),
        (lambda f: edit(f, lambda raw: b"\xef\xbb\xbf" + raw), "line 1: .* byte order mark, which an editor added"),
        (lambda f: edit(f, lambda raw: raw.replace(b"\n", b"\r\n")), "line 1: .*Windows line ends"),
        (lambda f: edit(f, lambda raw: raw[:300] + b"\0" * 40 + raw[340:]), "line 2: .* holds NUL bytes"),
        (lambda f: edit(f, lambda raw: raw[:300] + b"\xff" + raw[301:]), "line 2: .* not UTF-8 at byte 300"),
        (lambda f: ((f / "cards").rename(f / "c"), (f / "cards").symlink_to("c")), "cards is a symbolic link"),
        (lambda f: ((f / "journal.jsonl").unlink(), (f / "journal.jsonl").mkdir()), "cannot be"),
    ],
)
def test_c7_each_damage_has_its_own_message(folder, change, message):
    filled(folder)
    change(folder)
    with pytest.raises(StoreError, match=f"(?s){message}"):
        SkillBank.open(folder)


def edit(folder: Path, change) -> None:
    path = folder / "journal.jsonl"
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize("path", ["a\0b", "there/is/a\0b"])
def test_c7_an_unusable_name_is_an_error(path, tmp_path):
    for read_only in (True, False):
        with pytest.raises(StoreError):
            SkillBank.open(tmp_path / path, read_only=read_only)


def test_c7_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    for read_only in (True, False):
        with pytest.raises(StoreError, match=r"is no skill bank: there is no bank\.json"):
            SkillBank.open(tmp_path, read_only=read_only)
    assert os.listdir(tmp_path) == ["thesis.txt"]
    with pytest.raises(StoreError, match="cannot be made|cannot be read"):
        SkillBank.open(tmp_path / "thesis.txt" / "bank")


def test_c7_events_that_fit_no_bank_are_named(folder):
    from metagym.journal import Journal

    ids = filled(folder, 1)
    bad = [
        {"event": "add", "card": {"description": "../x", "id": "../x"}},
        {"event": "add", "card": lesson(0).to_json()},
        {"event": "use", "id": "../../etc/passwd", "won": True},
        {"event": "retire", "id": ids[0], "status": "deleted", "why": ""},
        {"event": "merge", "keep": ids[0], "drop": ids[0]},
        {"event": "explode"},
        ["no", "event"],
        {"event": "add", "card": lesson(5).to_json(), "supersedes": ["x"]},
    ]
    raw = (folder / "journal.jsonl").read_bytes()
    for event in bad:
        (folder / "journal.jsonl").write_bytes(raw)
        with Journal.open(folder / "journal.jsonl", "w") as journal:
            journal.append("00000002", event)
        with pytest.raises(StoreCorrupt, match="event 2 of the journal is no event of this bank"):
            SkillBank.open(folder)


@pytest.mark.parametrize("damage", ["gone", "garbage", "stale", "nan", "empty"])
def test_c8_the_vectors_are_made_anew_where_the_cache_is_of_no_use(folder, damage):
    filled(folder)
    cache = folder / "vectors.npz"
    with SkillBank.open(folder, read_only=True) as bank:
        want = bank.search(lesson(2).description, 4)
        rows = bank.snapshot()._rows.copy()
    if damage == "gone":
        cache.unlink()
    elif damage == "garbage":
        cache.write_bytes(b"PK\x03\x04 no zip")
    elif damage == "empty":
        cache.write_bytes(b"")
    elif damage == "stale":
        views.write_vectors(folder, HashEmbedder().sha256, [lesson(n).id for n in range(4, 8)], rows)
    else:
        views.write_vectors(folder, HashEmbedder().sha256, [lesson(n).id for n in range(4)], rows * np.nan)
    with SkillBank.open(folder) as bank:
        assert bank.search(lesson(2).description, 4) == want and np.array_equal(bank.snapshot()._rows, rows)
        bank.add(lesson(9))
    assert views.read_vectors(
        folder, HashEmbedder().sha256, 128, [*(lesson(n).id for n in range(4)), lesson(9).id]
    ).any()


def test_c8_a_cache_of_fewer_cards_is_used_and_completed(folder):
    class Counting(HashEmbedder):
        texts = 0

        def embed(self, texts):
            self.texts += len(texts)
            return super().embed(texts)

    filled(folder)
    bank = SkillBank.open(folder)
    bank.add_many([lesson(7), lesson(8)])
    bank.release()
    maker = Counting()
    with SkillBank.open(folder, embedder=maker) as bank:
        assert maker.texts == 2 and len(bank) == 6


def test_c8_card_files_are_made_anew_where_they_are_missing_or_old(folder):
    ids = filled(folder)
    want = tree(folder / "cards")
    bank = SkillBank.open(folder)
    bank.record_use(ids[0], True)
    bank.release()  # as a kill before the flush
    assert tree(folder / "cards") == want
    SkillBank.open(folder).close()
    assert 'uses: "1"' in views.card_file(folder, ids[0]).read_text()
    for path in (folder / "cards").iterdir():
        path.unlink()
    SkillBank.open(folder).close()
    assert {path.stem for path in (folder / "cards").glob("*.md")} == set(ids)


def test_an_edited_card_file_is_left_alone_and_told(folder):
    ids = filled(folder)
    path = views.card_file(folder, ids[1])
    mine = path.read_text().replace("description: ", "description: My own words. ").replace('"', "'")
    path.write_text(mine)
    bank = SkillBank.open(folder)
    bank.record_uses([(id_, True) for id_ in ids])
    with pytest.warns(BankWarning, match=r"1 card file was edited by hand and left alone.*skills import"):
        assert bank.flush() == [ids[1]]
    assert path.read_text() == mine
    with pytest.warns(BankWarning):
        bank.close()


def test_c9_a_bank_taken_back_goes_on_as_if_never_interrupted(tmp_path):
    def step(bank: SkillBank, number: int) -> None:
        bank.add_many([lesson(number), lesson(number + 100), near(lesson(number))])
        bank.record_use(lesson(number).id, number % 2 == 0, step=number)

    with SkillBank.open(tmp_path / "a") as bank:
        for number in range(6):
            step(bank, number)
        want = (bank.seq, bank.digest, bank.search(lesson(3).description, 5))
    with SkillBank.open(tmp_path / "b") as bank:
        for number in range(3):
            step(bank, number)
        seq = bank.seq
        step(bank, 77)  # half a step that the checkpoint does not know of
    last = (tmp_path / "b" / "journal.jsonl").read_bytes()
    aside = rewind(tmp_path / "b", seq)
    assert aside is not None and aside.parent.name == SET_ASIDE and aside.read_bytes() == last
    assert rewind(tmp_path / "b", seq) is None
    with SkillBank.open(tmp_path / "b") as bank:
        assert bank.seq == seq and lesson(77).id not in bank
        for number in range(3, 6):
            step(bank, number)
        assert (bank.seq, bank.digest, bank.search(lesson(3).description, 5)) == want
    assert tree(tmp_path / "a" / "cards") == tree(tmp_path / "b" / "cards")
    with pytest.raises(BadInput, match="cannot be taken back to event 999"):
        rewind(tmp_path / "b", 999)


def test_c9_a_writer_follows_a_bank_that_was_taken_back(folder):
    filled(folder)
    with SkillBank.open(folder) as bank:
        rewind(folder, 2)
        bank.add(lesson(9))
        assert [entry.card for entry in bank.entries()] == [lesson(0), lesson(1), lesson(9)]
    with SkillBank.open(folder) as bank:
        assert bank.seq == 3


def test_c10_a_single_writer_keeps_others_out_without_flock(folder, monkeypatch):
    filled(folder)
    with SkillBank.open(folder, single_writer=True) as bank:
        with pytest.raises(StoreLocked, match=r"is being written by process \d+ on .*delete writer.lock"):
            SkillBank.open(folder, single_writer=True)
        bank.add(lesson(9))
        assert (folder / "writer.lock").exists()
    assert not (folder / "writer.lock").exists()
    (folder / "writer.lock").write_text("process 1 on another-host\n")  # left by a kill
    with pytest.raises(StoreLocked, match="process 1 on another-host"):
        SkillBank.open(folder, single_writer=True)
    (folder / "writer.lock").unlink()

    def unknown(*args):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(files.fcntl, "flock", unknown)
    with pytest.raises(StoreError, match="cannot be locked on this file system.*single_writer=True"):
        SkillBank.open(folder)


def test_a_closed_bank_says_so(folder):
    bank = SkillBank.open(folder)
    bank.close()
    bank.close()
    for attempt in (lambda: bank.add(lesson(1)), bank.refresh, bank.flush):
        with pytest.raises(StoreError, match="is closed"):
            attempt()


@pytest.mark.parametrize("dedup", [0, 1.5, -1, True, "0.9", float("nan")])
def test_thresholds_that_mean_nothing_are_refused(folder, dedup):
    with pytest.raises(BadInput, match="dedup"):
        SkillBank.open(folder, dedup=dedup)
    assert not folder.exists()


def test_importing_metagym_loads_no_bank():
    import subprocess
    import sys

    code = "import sys, metagym; print([m for m in sys.modules if 'sesa' in m]); print(metagym.sesa.SkillBank.__name__)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "SkillBank"]


def test_threads_share_a_bank(folder):
    from concurrent.futures import ThreadPoolExecutor

    with SkillBank.open(folder) as bank, ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(bank.add, [lesson(number % 40) for number in range(80)]))
        list(pool.map(lambda number: bank.search(lesson(number).description, 3), range(40)))
        assert sum(isinstance(outcome, Added) for outcome in outcomes) == len(bank) == 40 and bank.seq == 40


def test_no_warning_where_nothing_is_wrong(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filled(folder)
        with SkillBank.open(folder) as bank:
            bank.add(SkillCard("Search for both names.", source="failure"))
