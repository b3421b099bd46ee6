"""The known-defect split is derived from the data, not judged."""

from __future__ import annotations

import json

import pytest

from metagym_envs.bfcl import known_defects
from metagym_envs.bfcl.data import entries
from metagym_envs.bfcl.world import World
from tests.envs.bfcl import deriving, playing


def test_the_list_is_what_the_data_say() -> None:
    found = deriving.defects()
    assert known_defects.known_data() and list(found) == list(known_defects.DEFECTS)
    kinds = {id_: "+".join(k for k, mark in (("text", "answer"), ("asks", "enough to book")) if mark in reason)
             for id_, reason in known_defects.DEFECTS.items()}  # fmt: skip
    assert kinds == found


def test_an_answer_names_files_that_the_tool_does_not_list() -> None:
    entry = playing.entry("multi_turn_long_context_11")
    listed = json.loads(World(entry).call(entry.truth[0][0]))["current_directory_content"]
    named = entry.truth[1][0].kwargs["content"].split(", ")
    assert len(set(named) - set(listed)) == 30


def test_the_split_counts_an_entry_on_one_side_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = playing.play(playing.entry("multi_turn_base_4"), playing.answer)["scores"]
    good = playing.play(playing.entry("multi_turn_base_5"), playing.nothing)["scores"]
    assert (bad["official"], bad["known_defects"], bad["without_known_defects"]) == (1.0, 1.0, None)
    assert (good["official"], good["known_defects"], good["without_known_defects"]) == (0.0, None, 0.0)
    # Of other data nothing is known, and neither side is a number.
    monkeypatch.setattr(known_defects, "DATA", "other")
    known_defects.known_data.cache_clear()
    try:
        other = playing.play(playing.entry("multi_turn_base_4"), playing.answer)["scores"]
    finally:
        monkeypatch.undo()
        known_defects.known_data.cache_clear()
    assert (other["official"], other["known_defects"], other["without_known_defects"]) == (1.0, None, None)


def test_every_entry_of_the_list_exists() -> None:
    for id_ in known_defects.DEFECTS:
        assert id_ in entries(id_.rpartition("_")[0])
