"""The benchmark of the wrappers in a tiny configuration, and what need not be timed: memory stays flat."""

from __future__ import annotations

import json
import math

import pytest

from benchmarks import wrappers
from benchmarks.common import Report


@pytest.mark.slow
def test_it_gives_finite_figures() -> None:
    report = wrappers.report(repeats=1, steps=60, episodes=20)
    assert [figure.unit for figure in report.figures] == ["us", "us", "us", "us", "x", "KiB"]
    assert all(math.isfinite(figure.value) for figure in report.figures)
    assert Report.from_json(json.loads(json.dumps(report.to_json()))) == report


@pytest.mark.slow
def test_many_episodes_leave_memory_flat() -> None:
    (held,) = wrappers.growth(1_000)
    assert held < 100  # KiB; one environment kept per episode would be thousands
