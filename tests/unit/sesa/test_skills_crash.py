"""Kills and crowds: nothing acknowledged is lost, and every decision is taken on the newest state."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metagym.sesa import SkillBank
from metagym.sesa.embedders import HashEmbedder
from metagym.sesa.vectors import close_pairs
from tests.unit.sesa.cards import lesson

ROOT = Path(__file__).resolve().parents[3]


def crowd(*arguments: object) -> dict:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.unit.sesa.crowd", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0 and not done.stderr, done.stderr  # where a writer says why it ended by itself
    return json.loads(done.stdout)


def test_c1_a_hundred_kills_of_three_writers_lose_nothing_acknowledged(tmp_path):
    found = crowd("kills", tmp_path / "bank", 35)
    assert found["lost"] == 0, found
    assert found["silent"] == 0, found
    assert found["killed"] >= 100 and found["acknowledged"] >= 100
    assert found["cards"] >= found["acknowledged"]


def test_c1_a_kill_at_each_named_point(tmp_path):
    found = crowd("faults", tmp_path)
    for name, (acknowledged, lost, cards, views, drafts) in found.items():
        assert lost == 0 and drafts == 0, name
        assert acknowledged == (3 if "line" in name else 4), name
        # the line that was whole but not yet synced was never acknowledged, and a kill does not take it away
        assert cards == acknowledged + 1 + (name == "before the line is synced"), name
        assert views == cards, name


@pytest.mark.parametrize("adds", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_c4_eight_processes_keep_the_cosine_invariant_s39(tmp_path, adds):
    found = crowd("crowd", tmp_path / "bank", 8, adds)
    assert found["failed"] == 0
    with SkillBank.open(tmp_path / "bank", read_only=True, embedder=HashEmbedder(64)) as bank:
        entries = bank.entries()
        ids = [entry.card.id for entry in entries]
        assert len(set(ids)) == len(ids)
        assert [entry.seq for entry in entries] == list(range(1, len(ids) + 1)) and bank.seq == len(ids)
        rows = bank.vectors(ids)
        assert all(one == other for one, other, _ in close_pairs(rows, rows, 0.85))
        own = {lesson(number * 1000 + n).id for number in range(1, 9) for n in range(200)}
        shared = set(ids) - own
        assert 30 < len(shared) <= 60  # of every lesson that several wrote exactly one form is kept
        assert set(ids) & own == set(found["sent"]) & own and shared < set(found["sent"])
    for path in (tmp_path / "bank" / "cards").glob("*.md"):
        assert path.stem in set(ids)
