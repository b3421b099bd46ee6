"""Samplers: what is not measured is not chosen by, ties go by seed, equal seeds choose alike."""

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput, UnknownName
from metagym.spade.records import EnvRecord, EnvView, Plays
from metagym.spade.samplers import (
    SAMPLERS,
    coverage,
    frontier,
    high_regret,
    histogram,
    negatives,
    plr,
    sampler,
    spade_examples,
    stale,
    top,
    verdict,
)
from metagym.stats import Estimate


def estimate(value, n=16):
    return Estimate(value, None, None, n)


def view(name, regret=0.5, p0=0.5, skill="a", round=0, played=None, n=16):
    admission = Plays(round, estimate(p0, n), estimate(1.0, n), estimate(regret, n))
    later = () if played is None else (Plays(played, estimate(p0, n), estimate(None, 0), estimate(regret, n)),)
    return EnvView(EnvRecord(name, f"source of {name}", skill, round), admission, later)


def names(views):
    return [view.digest for view in views]


# --- S29


@pytest.mark.parametrize("shape", [(5,), (5, 1), (1, 5), (5, 1, 1)])
def test_s29_the_shape_of_regrets_does_not_matter(shape):
    regrets = np.array([0.1, 0.9, 0.3, 0.7, 0.2]).reshape(shape)
    for given_ in (regrets, regrets.tolist(), regrets.astype(np.float32)):
        assert [top(given_, 2, seed) for seed in range(3)] == [[1, 3]] * 3


def test_s29_unmeasured_regrets_are_never_chosen():
    values = [float("nan"), 0.1, None, float("inf"), -0.2, np.float32("nan")]
    assert top(values, 6, 0) == [1, 4] and top([None, float("nan")], 2, 0) == [] and top([], 2, 0) == []
    views = [view("nan", regret=float("nan")), view("none", regret=None), view("low", regret=-0.5)]
    for name in ("high_regret", "plr"):
        assert names(SAMPLERS[name](views, 3, 0)) == ["low"]
    assert names(spade_examples(views, "a", 0).positives) == ["low"]


def test_s29_ties_are_broken_by_the_seed():
    found = Counter(tuple(top([0.5] * 4, 2, seed)) for seed in range(200))
    assert len(found) == 12  # every ordered pair comes up
    assert top([0.5] * 4, 2, 7) == top([0.5] * 4, 2, 7)
    orders = {tuple(names(high_regret([view(n) for n in "abcd"], 4, seed))) for seed in range(60)}
    assert len(orders) > 15


def test_s29_several_long_axes_are_refused():
    with pytest.raises(BadInput, match=r"shape \(2, 3\)"):
        top(np.zeros((2, 3)), 1, 0)
    with pytest.raises(BadInput, match="a number or None, got 'much'"):
        top(["much"], 1, 0)


def test_s29_the_histogram_counts_choices():
    a, b = view("a"), view("b")
    assert histogram([[b], [b, a], ["a", "c", "b"]]) == {"b": 3, "a": 2, "c": 1}


# --- every sampler

measured = st.none() | st.floats(0, 1) | st.just(float("nan"))
pools = st.lists(
    st.tuples(measured, measured, st.sampled_from("abc"), st.integers(0, 5), st.none() | st.integers(5, 9)), max_size=12
).map(lambda rows: [view(f"d{i}", *row[:3], round=row[3], played=row[4]) for i, row in enumerate(rows)])


@pytest.mark.parametrize("name", SAMPLERS)
@given(pool=pools, n=st.integers(0, 14), seed=st.integers(0, 2**40))
@settings(deadline=None, max_examples=40)
def test_a_sampler_chooses_at_most_n_different_ones_whatever_their_order(name, pool, n, seed):
    chosen = sampler(name)(pool, n, seed)
    assert len(chosen) <= n and len(set(names(chosen))) == len(chosen) and set(names(chosen)) <= set(names(pool))
    shuffled = random.Random(seed).sample(pool, len(pool))
    assert names(sampler(name)(shuffled, n, seed)) == names(chosen)
    needs = {"high_regret": "regret", "plr": "regret", "frontier": "p0", "negatives": "p0"}.get(name)
    fit = [v for v in pool if needs is None or getattr(v, needs) is not None]
    assert all(v in fit for v in chosen)
    if name != "negatives":
        assert len(chosen) == min(n, len(fit))


def test_an_unknown_sampler_is_refused_with_those_that_exist():
    with pytest.raises(UnknownName, match="there is no sampler 'best'; there are high_regret"):
        sampler("best")


@pytest.mark.parametrize("n", [-1, 1.5, None])
def test_a_number_of_choices_is_a_whole_number(n):
    for choose in SAMPLERS.values():
        with pytest.raises(BadInput):
            choose([view("a", p0=1.0)], n, 0)


# --- each rule


def test_high_regret_takes_the_highest():
    views = [view(str(i), regret=r) for i, r in enumerate([0.1, 0.9, -0.3, 0.7])]
    assert names(high_regret(views, 3, 0)) == ["1", "3", "0"]


def test_frontier_takes_what_is_nearest_to_even():
    views = [view(str(i), p0=p) for i, p in enumerate([0.0, 0.45, 1.0, 0.6])]
    assert names(frontier(views, 2, 0)) == ["1", "3"]
    assert names(frontier(views, 1, 0, target=0.9)) == ["2"]


def test_stale_takes_what_waited_longest():
    views = [view("old", round=0, played=9), view("new", round=5), view("played", round=0, played=7)]
    assert names(stale(views, 3, 0)) == ["new", "played", "old"]


def test_coverage_goes_round_the_skills_and_begins_with_the_least_played():
    views = [view("a1", skill="a"), view("a2", skill="a"), view("a3", skill="a", n=2), view("b1", skill="b", n=4)]
    assert names(coverage(views, 3, 0))[:2] == ["b1", "a3"]
    assert set(names(coverage(views, 4, 0))) == {"a1", "a2", "a3", "b1"}


def test_plr_follows_its_two_rules():
    views = [view(str(i), regret=1 - i / 4, played=10 - 3 * i) for i in range(4)]
    greedy = Counter(names(plr(views, 1, seed, beta=0.1, rho=0.0))[0] for seed in range(300))
    assert greedy["0"] > 290  # weight 1 against 2 ** -10 and less
    # P = 0.5 * rank^-1 / (25/12) + 0.5 * age / (1+4+7+10), ages counted from round 11
    mixed = Counter(names(plr(views, 1, seed, beta=1.0, rho=0.5))[0] for seed in range(4000))
    for place in range(4):
        expected = 0.5 / (place + 1) / (25 / 12) + 0.5 * (1 + 3 * place) / 22
        assert abs(mixed[str(place)] / 4000 - expected) < 4 * math.sqrt(expected * (1 - expected) / 4000)
    late = Counter(names(plr(views, 1, seed, rho=1.0, now=10**6))[0] for seed in range(1000))
    assert all(180 < count < 320 for count in late.values())
    assert len(plr(views, 4, 0, beta=1e-4, rho=0.0)) == 4
    with pytest.raises(BadInput, match="beta"):
        plr(views, 1, 0, beta=0)


def test_negatives_are_too_easy_or_too_hard():
    views = [view("fair"), view("easy", p0=0.95), view("hard", p0=0.05), view("edge", p0=0.9), view("none", p0=None)]
    assert set(names(negatives(views, 9, 0))) == {"easy", "hard"}
    assert [verdict(v) for v in views] == [None, "too easy", "too hard", None, None]
    assert len({tuple(names(negatives(views, 1, seed))) for seed in range(20)}) == 2


def test_the_rule_of_spade():
    fair = [view(f"f{i:02}", regret=i / 100, p0=0.15 + i / 100) for i in range(40)]
    others = [view("other", skill="b", regret=9.0), view("bad", p0=0.95, regret=8.0), view("b-bad", p0=0.0, skill="b")]
    shown = Counter()
    for seed in range(400):
        examples = spade_examples(fair + others, "a", seed)
        assert len(examples.positives) == 2 and names(examples.negatives) == ["bad"]
        shown.update(names(examples.positives))
    assert set(shown) == {f"f{i}" for i in range(30, 40)}  # the best ten
    assert all(40 < count < 125 for count in shown.values())
    assert len(spade_examples(fair, "a", 0, positives=5).positives) == 5
    assert spade_examples([], "a", 0).positives == ()
    wide = Counter(d for seed in range(300) for d in names(spade_examples(fair, "a", seed, positives=5).positives))
    assert set(wide) == {f"f{i}" for i in range(25, 40)}  # the best fifteen
