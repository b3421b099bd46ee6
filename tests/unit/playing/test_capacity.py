from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagym.errors import BadInput
from metagym.playing.capacity import Fleet, Work, forecast, stages

WORK = Work(turns=10, completion_tokens=100, driver_s=0.001, step_s=0.002, open_s=0.05)
FLEET = Fleet(servers=2, tokens_per_s=2000, stream_tokens_per_s=50, workers=8)


def test_one_episode_is_alone() -> None:
    found = forecast(WORK, FLEET, 1)
    assert found.alone_s == pytest.approx(10 * (2 + 0.001 + 0.002) + 0.05)
    assert found.episode_s == pytest.approx(found.alone_s)
    assert found.episodes_per_s * found.episode_s == pytest.approx(1)  # Little's law


def test_a_crowd_is_held_back_by_the_slowest_stage() -> None:
    found = forecast(WORK, FLEET, 1000)
    assert found.bottleneck == "model" and found.limit_per_s == pytest.approx(2 * 2000 / 1000)
    assert found.episodes_per_s == pytest.approx(found.limit_per_s, rel=1e-3)
    assert found.utilisation["model"] == pytest.approx(1, abs=1e-3)
    slow = forecast(Work(10, 100, step_s=5, driver_s=0), FLEET, 1000)
    assert slow.bottleneck == "environments" and slow.limit_per_s == pytest.approx(8 / 50)
    busy = forecast(Work(10, 1, driver_s=0.1), FLEET, 500)
    assert busy.bottleneck == "driver" and busy.limit_per_s == pytest.approx(1)
    assert forecast(Work(10, 1, driver_s=0.1), Fleet(2, 2000, 50, workers=8, drivers=8), 500).limit_per_s > 4


def test_a_single_station_has_its_textbook_throughput() -> None:
    # One stage of width 1 (an M/M/1 machine repair model without think time) is always busy.
    only = Work(turns=1, completion_tokens=100, driver_s=0)
    assert forecast(only, Fleet(1, 100, 100), 7).episodes_per_s == pytest.approx(1)
    # The machine repair model: N = 3 thinkers of 2 s, one server of 1 s (Lazowska et al., 1984, exact MVA by hand).
    thinking = Work(turns=1, completion_tokens=100, driver_s=0, delay_s=2)
    queue, rate = 0.0, 0.0
    for n in (1, 2, 3):
        stay = 1 + queue
        rate = n / (2 + stay)
        queue = rate * stay
    assert forecast(thinking, Fleet(1, 100, 100), 3).episodes_per_s == pytest.approx(rate)


positive = st.floats(1e-3, 1e3)


@given(st.integers(1, 60), positive, positive, st.floats(0, 1), st.floats(0, 1), st.integers(1, 9), st.integers(1, 9))
def test_throughput_stays_within_the_asymptotic_bounds_and_grows(
    at_once: int, turns: float, tokens: float, step: float, delay: float, servers: int, workers: int
) -> None:
    work = Work(turns, tokens, step_s=step, delay_s=delay, open_s=step)
    fleet = Fleet(servers, 500.0, 50.0, workers=workers)
    found, more = forecast(work, fleet, at_once), forecast(work, fleet, at_once + 1)
    bound = min(found.limit_per_s, at_once / found.alone_s)
    assert 0 < found.episodes_per_s <= bound * (1 + 1e-9)
    assert more.episodes_per_s >= found.episodes_per_s * (1 - 1e-9)
    assert all(0 <= share <= 1 for share in found.utilisation.values())
    assert math.isclose(found.knee, found.limit_per_s * found.alone_s)


def test_reading_takes_a_server_as_well() -> None:
    read = Work(10, 100, prompt_tokens=1000)
    demands, width = stages(read, Fleet(1, 1000, 50, prefill_tokens_per_s=10_000))
    assert demands["model"] == pytest.approx(10 * (2 + 0.1)) and width["model"] == pytest.approx(2.1 / 0.2)
    assert stages(read, Fleet(1, 1000, 50))[0]["model"] == pytest.approx(20)


def test_no_stream_is_faster_than_its_whole_server() -> None:
    demands, width = stages(Work(10, 100), Fleet(2, 100, 5000))
    assert demands["model"] == pytest.approx(10) and width["model"] == pytest.approx(2)


def test_large_crowds_are_finite() -> None:
    found = forecast(Work(100, 300, delay_s=1, step_s=0.1), Fleet(16, 5000, 60, workers=64), 2000)
    assert math.isfinite(found.episodes_per_s) and found.episodes_per_s == pytest.approx(found.limit_per_s, rel=0.02)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Work(0, 1),
        lambda: Work(1, math.nan),
        lambda: Work(1, 1, step_s=-1),
        lambda: Fleet(0, 1, 1),
        lambda: Fleet(1, 0, 1),
        lambda: forecast(WORK, FLEET, 0),
        lambda: forecast(WORK, FLEET, 10**6),
    ],
)
def test_what_cannot_be_is_refused(make: Any) -> None:
    with pytest.raises(BadInput):
        make()
