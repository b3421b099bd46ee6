"""Record files read bit by bit: the same episodes as the journal gives, beside a writer, around damage."""

from __future__ import annotations

import json
import os
import re
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagym.episodes import Episode, Repair, Status, Turn
from metagym.errors import StoreCorrupt
from metagym.journal import Journal
from metagym.runs.folder import RECORDS, RunFolder
from metagym.runs.notices import notices
from metagym.runs.results import load_results
from metagym.runs.spade_results import load_spade
from metagym.runs.view import Catalogue
from metagym.runs.view import records as module
from metagym.runs.view.records import RecordFile
from tests.unit.runs.synthetic import a_manifest, a_task, an_episode, episode_records, meta_episode, write_run

# What would look like structure, were it not escaped.
CONFUSING = [
    '"turns":[',
    '],"last_observation":',
    '"terminated":',
    '\\"turns\\":[',
    '"turns":[],"last_observation":"x"',
    "\\",
    "\n",
    "\u2028",
]
texts = st.lists(st.one_of(st.sampled_from(CONFUSING), st.text(max_size=12)), max_size=5).map("".join)


def reading(path: Path) -> RecordFile:
    found = RecordFile(path / RECORDS)
    found.refresh(60)
    return found


def test_the_rows_are_the_episodes_of_the_results(make_run):
    path = make_run()
    found, results = reading(path), load_results(path)
    assert found.ended and not found.problems and found.reading is None and found.torn == 0
    assert len(found.rows) == len(results.played) == 145
    for row, played in zip(found.rows, results.played, strict=True):
        assert (row.arm, row.seed, row.turn, row.phase, row.slot) == (
            played.arm,
            played.seed,
            played.turn,
            played.phase,
            played.slot,
        )
        assert row.steps == played.episode.steps and row.episode.turns == ()
        assert found.episode(row) == played.episode
    assert [line.step.turn for line in found.prompts] == [step.turn for step in results.prompts]


def test_the_kept_plays_of_spade_and_both_seats_of_sesa_are_rows(folder):
    found, results = reading(folder / "spade"), load_spade(folder / "spade")
    kept = [episode for slot in results.slots if slot.played for episode in slot.played.episodes]
    assert sorted(str(found.episode(row)) for row in found.rows) == sorted(map(str, kept)) and kept
    assert {row.phase for row in found.rows} == {"without the hint", "with the hint"}
    assert len(found.programs) == sum(slot.played is not None for slot in results.slots)
    sesa = reading(folder / "sesa")
    assert {row.phase for row in sesa.rows} == {"challenger", "solver", "solver without skills"}
    assert all(sesa.episode(row).steps == row.steps for row in sesa.rows)


@given(st.lists(st.tuples(texts, texts, st.none() | texts, texts), max_size=4), texts, texts)
def test_turns_are_cut_out_whatever_their_texts_hold(tmp_path_factory, turns, last, cause):
    story = tuple(Turn(a, b, c or "", 0.0, False, False, absence=None, admissible=(d,)) for a, b, c, d in turns)
    episode = an_episode(a_task(0), True, turns=story, last_observation=last, cause=cause, info={"x": [last, cause]})
    path = tmp_path_factory.mktemp("cut") / RECORDS
    with Journal.open(path, "w") as journal:
        journal.append_many(episode_records("", 0, "eval", [episode]))
        (key,) = journal.keys()
        stored = Episode.from_json(journal.get(key)["episode"])
    found = RecordFile(path)
    found.refresh(60)
    (row,) = found.rows
    assert row.steps == len(story) and found.episode(row) == stored
    assert (row.episode.last_observation, row.episode.cause) == (stored.last_observation, stored.cause)


def test_a_growing_file_is_read_on_and_its_torn_end_waits(tmp_path):
    rows = meta_episode(turns=1)
    with RunFolder.create(tmp_path / "run", a_manifest()) as run:
        found = RecordFile(tmp_path / "run" / RECORDS)
        found.refresh()
        assert found.rows == [] and not found.missing
        for count, (key, value) in enumerate(rows, 1):
            run.records.append(key, value)
            if count % 7 == 0:
                found.refresh()
                assert found.records == count and not found.problems
    found.refresh()
    assert found.ended and found.records == len(rows)
    file = tmp_path / "run" / RECORDS
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"key":"turn/2/eval/0","val')
    found.refresh()
    assert found.torn == 27 and found.records == len(rows) and not found.problems


def test_reading_in_small_pieces_gives_the_same(make_run, monkeypatch):
    path = make_run()
    whole = reading(path)
    monkeypatch.setattr(module, "_CHUNK", 701)
    pieces = RecordFile(path / RECORDS)
    assert pieces.unread and pieces.reading == 0
    pieces.refresh(0)
    assert pieces.records == 0 and pieces.reading == 0  # no time: looked at, and nothing read
    while not pieces.records:
        pieces.refresh(1e-9)  # some bytes, whatever the clock says
    assert 0 < pieces.records < whole.records and 0 < pieces.reading < 1
    while pieces.reading is not None:
        pieces.refresh(0.001)
    assert pieces.rows == whole.rows and pieces.prompts == whole.prompts


def test_a_record_longer_than_the_time_for_reading_is_read_all_the_same(tmp_path, monkeypatch):
    said = an_episode(a_task(0), True, turns=(Turn("o" * 50_000, "r", "a", 1.0, True, False),))
    path = write_run(tmp_path / "run", [*meta_episode(turns=0)[:2], *episode_records("", 1, "eval", [said])])
    monkeypatch.setattr(module, "_CHUNK", 1_000)
    found = RecordFile(path / RECORDS)
    for _ in range(200):
        found.refresh(1e-9)
    assert found.reading is None and not found.problems and found.rows[-1].steps == 1
    assert found.episode(found.rows[-1]) == said


def test_a_record_that_is_too_long_is_named_and_the_others_stay(tmp_path, monkeypatch):
    path = write_run(tmp_path / "run", meta_episode(turns=0)[:2])
    with open(path / RECORDS, "ab") as file:
        file.write(b"x" * 9_000 + b"\n")
    with Journal.open(tmp_path / "more.jsonl", "w") as more:
        more.append_many(meta_episode(turns=0)[2:4])
    with open(path / RECORDS, "ab") as file:
        file.write((tmp_path / "more.jsonl").read_bytes())
    monkeypatch.setattr(module, "_CHUNK", 1_000)
    monkeypatch.setattr(module, "MAX_LINE", 8_000)
    found = reading(path)
    assert [problem.text for problem in found.problems] == [
        "records.jsonl, line 3: the record has 9,000 bytes, and 8,000 are read at most"
    ]
    assert len(found.rows) == 4 and found.episode(found.rows[-1]).steps == 2


def test_a_torn_end_that_is_cut_and_written_over_while_it_is_read(tmp_path, monkeypatch):
    path = write_run(tmp_path / "run", meta_episode(turns=0)[:3])
    whole = (path / RECORDS).read_bytes()
    monkeypatch.setattr(module, "_CHUNK", 100)
    found = RecordFile(path / RECORDS)
    last = whole.rindex(b"\n", 0, -1) + 1
    (path / RECORDS).write_bytes(whole[:last] + b"#" * 400)
    while found._end < last or not found._begun_size:
        found.refresh(1e-9)
    with open(path / RECORDS, "r+b") as file:
        file.seek(last)
        file.write(whole[last:])
    found.refresh(60)
    assert not found.problems and len(found.rows) == 3


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda line: line.replace(b"fridge", b"fridgf", 1), "line 4: the record is damaged (checksum does not fit)"),
        (lambda line: line[:-40], "line 4: the record is damaged"),
        (lambda line: b"", "line 4: the record is damaged"),
        (lambda line: b"\xff\xfe no record \x00", "line 4: the record is damaged"),
    ],
)
def test_a_damaged_line_is_named_and_the_others_stay(make_run, edit, words):
    path = make_run()
    lines = (path / RECORDS).read_bytes().split(b"\n")
    lines[3] = edit(lines[3])
    (path / RECORDS).write_bytes(b"\n".join(lines))
    found = reading(path)
    assert found.damaged == 1 and words in found.problems[0].text and found.problems[0].line == 4
    assert len(found.rows) == 144 and found.episode(found.rows[-1]).steps == 2


def test_records_that_fit_their_checksum_and_are_none_of_a_run_are_named(tmp_path):
    path = write_run(tmp_path / "run", meta_episode(turns=0)[:3])
    good = meta_episode(turns=0)[3]
    strange = [
        ("a", {"kind": "episode"}),
        ("b", 5),
        ("turn/0/eval/9", {**good[1], "turn": "soon"}),
        ("c", {"kind": "episode", "turn": 0, "phase": "eval", "slot": 0, "episode": {"turns": [], "task": 1}}),
        ("turn/1/reflection", {"kind": "reflection"}),
        ("d", None),
        ("turn/1/eval/9", {**good[1], "turn": 10**40}),
        ("turn/1/eval/8", {**good[1], "turn": -1}),
    ]
    with Journal.open(path / RECORDS, "w") as journal:
        journal.append_many([*strange, ("unknown", {"kind": "of a later version"})])
    line = (path / RECORDS).read_bytes().split(b"\n")[0]
    with open(path / RECORDS, "ab") as file:
        file.write(line + b"\n")
    found = reading(path)
    assert found.damaged == 9 and len(found.rows) == 3
    assert "'a' is none of a run" in found.problems[0].text and "for the second time" in found.problems[-1].text


def test_a_return_that_is_no_number_is_damage_though_its_checksum_fits(tmp_path):
    path = write_run(tmp_path / "run", meta_episode(turns=0)[:3])
    *others, last = (path / RECORDS).read_bytes().splitlines()
    covered = re.sub(rb'"return":[\d.]+', b'"return":1e999', last[: last.rindex(b',"crc"')])
    (path / RECORDS).write_bytes(b"\n".join([*others, covered + b',"crc":"%08x"}\n' % zlib.crc32(covered)]))
    found = reading(path)
    assert found.damaged == 1 and "its return is inf" in found.problems[0].text and len(found.rows) == 2


def test_a_file_that_was_rewritten_is_read_anew(make_run):
    path = make_run()
    found = reading(path)
    row = found.rows[0]
    lines = (path / RECORDS).read_bytes().splitlines(keepends=True)
    replacement = path / "new"
    replacement.write_bytes(b"".join(lines[2:]))
    os.replace(replacement, path / RECORDS)
    with pytest.raises(StoreCorrupt, match="was rewritten|damaged"):
        found.episode(row)
    found.refresh()
    assert found.records == len(lines) - 2
    edited = b"".join(lines[2:]).replace(b"mug 1", b"mug 2", 1)  # the same size
    (path / RECORDS).write_bytes(edited)
    os.utime(path / RECORDS, ns=(1, 1))
    found.refresh()
    assert found.damaged == 1


def test_what_is_no_file_is_told(tmp_path):
    missing = reading(tmp_path)
    assert missing.missing == "records.jsonl cannot be read: No such file or directory"
    os.mkfifo(tmp_path / RECORDS)
    assert "no regular file" in reading(tmp_path).missing  # and nobody waits for its writer


def test_a_value_is_read_whole(make_run):
    path = make_run()
    found = reading(path)
    value = found.value(found.rows[0].line)
    assert value["episode"]["turns"] and json.dumps(value)


def test_notices_are_those_of_the_whole_run_though_turns_are_only_counted(tmp_path):
    odd = (
        Turn("a", None, "", 0.0, False, False, Repair.ABSENT, "length"),
        Turn('"absence":"refused" "repair":"invalid"', None, "", 0.0, False, False, Repair.ABSENT, "error"),
        Turn("b", "fly", "fly", 0.0, False, True, Repair.INVALID),
    )
    played = [an_episode(a_task(number), False, Status.TRUNCATED, odd, cause="step cap") for number in range(9)]
    path = write_run(tmp_path / "odd", episode_records("", 0, "eval", played))
    with RunFolder.resume(path, RunFolder.open(path).manifest) as run:
        run.note_retries(3)
    found = Catalogue(path).runs()[0]
    found.refresh(60)
    told = notices(load_results(path))
    assert notices(found.results(), found.records.turns) == told
    assert any("27 of 27 actions" in line for line in told) and "Answers cut by length: 9." in told
    assert found.results().seconds == load_results(path).seconds and any("Retries: 3" in line for line in told)
