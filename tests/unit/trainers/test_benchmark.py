"""The benchmark of the trainers runs in a tiny configuration; its times are not held against anything."""

from __future__ import annotations

import json
import math

import pytest

pytest.importorskip("trl")
pytest.importorskip("httpx2")

from benchmarks import trainers
from benchmarks.common import Report


def test_every_replay_of_the_batch_waits_for_the_same_answers_in_both_arms() -> None:
    figures, details = trainers.overlap((1,), candidates=3, tasks=2, length=2, median=0.01, slots=8)
    [seconds], [drawn] = details["seconds"], details["drawn_s"]
    assert seconds["batch"] >= drawn and seconds["slowest"] >= drawn  # nothing was answered before its time
    assert [figure.bound for figure in figures][0] == "<= 1.2" and all(figure.value > 0 for figure in figures)


def test_the_adapters_cost_is_what_scoring_takes_beyond_playing() -> None:
    figures, details = trainers.costs(2, 2, (1,), warm=2)
    report = Report("trainers", "t", figures, details)
    assert Report.from_json(json.loads(json.dumps(report.to_json(), allow_nan=False))) == report
    [run] = details["runs"]
    assert len(run["cpu"]) == 1 and len(run["own"]) == len(run["play"]) == 2
    assert all(math.isfinite(figure.value) for figure in figures)
    assert figures[0].bound == "<= 3" and figures[5].value > 0
