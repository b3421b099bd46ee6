"""Advantages per role and group: exact zeros, nothing from the unscored, baselines read before their update."""

import json
import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput
from metagym.spade.advantages import (
    EmaBaseline,
    advantages,
    center,
    designer_scale,
    ema_baseline,
    rloo,
    zscore,
)

rewards = st.lists(st.none() | st.floats(-1e6, 1e6) | st.just(math.nan), max_size=12)


def test_rules_by_hand():
    assert center([1, 0, 0, 1]) == [0.5, -0.5, -0.5, 0.5]
    assert zscore([3, 1, 2]) == pytest.approx([1, -1, 0])  # standard deviation with n - 1: 1
    assert rloo([1, 0, 0]) == pytest.approx([1, -0.5, -0.5])


@pytest.mark.parametrize("rule", [center, zscore, rloo])
@pytest.mark.parametrize(
    "group",
    [[0.7, 0.7, 0.7], [0.1 + 0.2, 0.3], [5.0], [0, 0, None], [1e-300] * 3, [-1, -1], [1e300] * 2, [0.0, 5e-324]],
)
def test_a_group_without_spread_gives_exactly_zero(rule, group):
    assert rule(group) == [None if reward is None else 0.0 for reward in group]


@pytest.mark.parametrize("rule", [center, zscore, rloo])
def test_s15_unscored_rewards_get_no_advantage_and_move_no_mean(rule):
    assert rule([1, None, 1, math.nan]) == [0, None, 0, None]
    assert rule([1, None, 0, math.inf]) == [pytest.approx(rule([1, 0])[0]), None, pytest.approx(rule([1, 0])[1]), None]
    assert rule([None, math.nan]) == [None, None] and rule([]) == []


def test_s15_unscored_rewards_are_counted_and_an_unscored_batch_is_an_error():
    found = advantages([1, None, 1, math.nan, 0, 1], ["a"] * 4 + ["b"] * 2)
    assert found.values == (0, None, 0, None, -0.5, 0.5)
    assert (found.unscored, found.groups, found.flat) == (2, 2, 1)
    with pytest.raises(BadInput, match="none of the 2 rewards"):
        advantages([None, math.nan], ["a", "a"])
    with pytest.raises(BadInput, match="none of the 0 rewards"):
        advantages([], [])


@given(rewards)
@settings(max_examples=100, deadline=None)
def test_advantages_of_a_group_sum_to_zero(group):
    for rule in (center, zscore, rloo):
        found = rule(group)
        assert [value is None for value in found] == [reward is None or math.isnan(reward) for reward in group]
        values = [value for value in found if value is not None]
        assert abs(math.fsum(values)) <= 1e-9 * max([1.0, *map(abs, values)])
        if rule is zscore and any(values):
            assert statistics.stdev(values) == pytest.approx(1)


def test_groups_do_not_see_each_other_and_keep_their_order():
    found = advantages([1, 10, 3, 30], ["easy", "hard", "easy", "hard"], "center", scale=2)
    assert found.values == (-2, -20, 2, 20)


@pytest.mark.parametrize(
    "arguments",
    [([1.0], []), ([1.0], ["a"], "median"), ([1.0], ["a"], "center", -1), ([1.0], ["a"], "center", math.nan)],
)
def test_unusable_arguments_are_refused(arguments):
    with pytest.raises(BadInput):
        advantages(*arguments)


# --- moving baselines


def test_baseline_is_read_before_it_is_updated():
    state = EmaBaseline(decay=0.9)
    assert state.advantages("designer", "logic", [1.0]) == [1.0]  # against the start, 0
    assert state.read("designer", "logic") == pytest.approx(0.1)
    assert state.advantages("designer", "logic", [1.0, 0.0]) == pytest.approx([0.9, -0.1])  # both against the same
    assert state.read("designer", "logic") == pytest.approx(0.9 * 0.1 + 0.1 * 0.5)


def test_roles_and_groups_have_baselines_of_their_own():
    state = EmaBaseline()
    state.advantages("designer", "logic", [1.0])
    assert state.read("agent", "logic") == state.read("designer", "maths") == 0.0


def test_s15_unscored_rewards_move_no_baseline():
    state = EmaBaseline(decay=0.5)
    assert state.advantages("agent", "g", [None, math.nan]) == [None, None] and state.read("agent", "g") == 0
    assert state.advantages("agent", "g", [1.0, None]) == [1.0, None] and state.read("agent", "g") == 0.5
    assert ema_baseline(state, "agent", [1.0, None, 3.0], ["g", "g", "h"]) == (0.5, None, 3.0)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), rewards), max_size=8), st.integers(0, 8))
@settings(max_examples=50, deadline=None)
def test_a_resumed_baseline_equals_an_uninterrupted_one(batches, cut):
    whole, part = EmaBaseline(), EmaBaseline()
    for number, (role, group, batch) in enumerate(batches):
        if number == cut:
            part = EmaBaseline.from_json(json.loads(json.dumps(part.to_json(), allow_nan=False)))
        assert whole.advantages(role, group, batch) == part.advantages(role, group, batch)
    assert whole.to_json() == part.to_json()


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"decay": 1.0, "start": 0, "baselines": []},
        {"decay": 0.9, "start": 0, "baselines": [["a", "b"]]},
        {"decay": 0.9, "start": 0, "baselines": [["a", 1, 0.0]]},
        {"decay": 0.9, "start": 0, "baselines": [["a", "b", math.nan]]},
        {"decay": 0.9, "start": 0, "baselines": 3},
    ],
)
def test_a_damaged_state_is_refused(state):
    with pytest.raises(BadInput, match="not the state of a baseline"):
        EmaBaseline.from_json(state)


def test_groups_of_a_batch_must_match():
    with pytest.raises(BadInput, match="each reward has a group"):
        ema_baseline(EmaBaseline(), "agent", [1.0], [])


@pytest.mark.parametrize("bad", [["1.5"], "12", [10**400], [[1.0]], [1j], np.zeros((2, 2)), 3, None])
def test_rewards_that_are_no_numbers_are_refused(bad):
    for rule in (center, zscore, rloo, lambda given: EmaBaseline().advantages("agent", "a", given)):
        with pytest.raises(BadInput, match="numbers and None"):
            rule(bad)


def test_groups_have_names():
    with pytest.raises(BadInput, match="a group is a name"):
        advantages([1.0, 2.0], [["a"], ["b"]])


# --- the designer's scale


def test_designer_scale_by_hand():
    assert designer_scale(384, 96, 4) == 16
    assert designer_scale(384, 24, 4) == 50  # 64, capped
    assert designer_scale(384, 24, 4, cap=100) == 64
    assert designer_scale(0, 1, 4) == 0
    with pytest.raises(BadInput, match="designer"):
        designer_scale(10, 0, 4)
