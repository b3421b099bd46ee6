from __future__ import annotations

from math import comb, exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput
from metagym.seeding import rng
from metagym.sesa.diversity import bleu, clusters, distances, repetition
from metagym.sesa.embedders import HashEmbedder
from metagym.sesa.shaping import SHAPES, Measured, check_rollouts, load_shape, measure, shape_spec
from metagym.sesa.stand_ins import HopBandit

BELLS = ("quadratic", "gaussian", "min", "spice")


def expected(spec: str, p: float, n: int = 5) -> float:
    shape = load_shape(spec)
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) * shape(k / n) for k in range(n + 1))


@given(st.sampled_from(BELLS), st.integers(2, 32), st.data())
@settings(max_examples=80, deadline=None)
def test_f1_bells_are_zero_at_both_ends_symmetric_and_rise_inwards(name: str, n: int, data: st.DataObject) -> None:
    shape = load_shape(name)
    k = data.draw(st.integers(0, n))
    assert shape(0.0) == shape(1.0) == 0.0
    assert shape(k / n) == pytest.approx(shape((n - k) / n))
    assert 0 <= shape(k / n) <= shape(0.5)
    if 2 * (k + 1) <= n:
        assert shape(k / n) <= shape((k + 1) / n)


@given(st.floats(0.05, 0.95), st.floats(0.02, 1.0), st.floats(0, 0.5), st.floats(0, 0.5))
@settings(max_examples=60, deadline=None)
def test_f1_a_moved_gaussian_has_its_maximum_where_it_says(mu: float, sigma: float, near: float, far: float) -> None:
    shape = load_shape(f"gaussian?mu={mu}&sigma={sigma}")
    near, far = sorted((near, far))
    for sign in (-1, 1):
        if 0 < mu + sign * far < 1:
            assert shape(mu + sign * far) <= shape(mu + sign * near) <= shape(mu) == 1.0


def test_f1_a_moved_quadratic_is_ssps_formula_and_never_negative() -> None:
    shape = load_shape("quadratic?left=-0.2&right=1")
    assert shape(0.1) == 0.0 and shape(0.6) == pytest.approx(4 * 0.4 * 0.4)
    assert shape(0.6) == max(shape(s / 100) for s in range(101))


@pytest.mark.parametrize(
    "spec", ["quadratic?right=1.5", "quadratic?left=0.5&right=1.2", "gaussian?mu=0.9&sigma=1", "min", "spice"]
)
def test_f1_a_moved_bell_is_zero_at_both_ends_too(spec: str) -> None:
    shape = load_shape(spec)
    assert shape(0.0) == shape(1.0) == 0.0 < shape(0.5)


def test_f7_as_many_scored_rollouts_as_asked_are_enough() -> None:
    assert measure([True, False, None], 2) == Measured(0.5, 2, 1)
    assert measure([True, False, None], 3) == Measured(None, 2, 1) and measure([], 1).rate is None


@pytest.mark.parametrize("p", [round(0.05 * step, 2) for step in range(21)])
def test_f2_the_mean_reward_is_what_the_binomial_says(p: float) -> None:
    n, draws, shape = 5, 4000, load_shape("quadratic")
    exact = 4 * p * (1 - p) * (1 - 1 / n)
    assert expected("quadratic", p) == pytest.approx(exact)
    draw = rng(0, "f2", int(round(p * 100)))
    rewards = [shape(sum(draw.random() < p for _ in range(n)) / n) for _ in range(draws)]
    error = float(np.std(rewards, ddof=1)) / draws**0.5
    assert abs(float(np.mean(rewards)) - exact) <= 4 * error + 1e-12


@pytest.mark.parametrize(
    ("spec", "p", "value"),
    [  # computed by hand from the binomial distribution, n = 5
        ("quadratic", 0.05, 0.15),
        ("quadratic", 0.25, 0.60),
        ("quadratic", 0.5, 0.80),
        ("gaussian", 0.05, 0.09),
        ("gaussian", 0.25, 0.44),
        ("gaussian", 0.5, 0.65),
        ("min", 0.05, 0.05),
        ("min", 0.25, 0.22),
        ("min", 0.5, 0.31),
    ],
)
def test_the_expected_rewards_of_the_documentation_hold(spec: str, p: float, value: float) -> None:
    assert expected(spec, p) == pytest.approx(value, abs=0.005)
    assert expected(spec, 0) == expected(spec, 1) == 0.0


def test_shapes_without_a_bell_pay_as_their_sources_say() -> None:
    assert [load_shape("one_minus_acc")(s) for s in (0, 0.25, 1)] == [1, 0.75, 0]
    assert {load_shape("constant")(s) for s in (0, 0.5, 1)} == {1.0}
    assert load_shape("spice")(0.5) == 1.0 and load_shape("spice")(0.2) == pytest.approx(
        exp(-((0.16 - 0.25) ** 2) / 0.02)
    )


ARMS = (0.95, 0.75, 0.5, 0.25, 0.05)  # true success of the solver on the questions of each arm


def trained(spec: str, updates: int = 300, batch: int = 32, n: int = 5) -> HopBandit:
    shape, bandit = load_shape(spec), HopBandit(range(len(ARMS)), rate=2.0)
    for step in range(updates):
        chosen = bandit.choose(batch, step)
        draw = rng(step, "f3", spec)
        bandit.learn(chosen, [shape(sum(draw.random() < ARMS[arm] for _ in range(n)) / n) for arm in chosen])
    return bandit


@pytest.mark.parametrize("spec", ["quadratic", "gaussian", "min"])
def test_f3_a_challenger_under_a_bell_ends_at_the_frontier(spec: str) -> None:
    assert trained(spec).policy[ARMS.index(0.5)] > 0.8


def test_f3_under_one_minus_accuracy_it_ends_at_the_hardest_questions() -> None:
    assert trained("one_minus_acc").policy[ARMS.index(0.05)] > 0.8


def test_f3_without_frontier_shaping_it_stays_uniform() -> None:
    bandit = trained("constant")
    counts = np.bincount(bandit.choose(2000, 7), minlength=len(ARMS))
    assert ((counts - 400.0) ** 2 / 400.0).sum() < 13.28  # chi-square, 4 degrees of freedom, p = .01


@pytest.mark.parametrize("spec", BELLS)
def test_f5_one_rollout_is_refused_where_a_bell_would_always_pay_nothing(spec: str) -> None:
    with pytest.raises(BadInput, match="play at least 2"):
        check_rollouts(load_shape(spec), 1, 1)
    with pytest.raises(BadInput, match="ask for at least 2"):
        check_rollouts(load_shape(spec), 5, 1)
    assert check_rollouts(load_shape("one_minus_acc"), 1, 1) == (1, 1)
    assert {load_shape(spec)(s) for s in (0.0, 1.0)} == {0.0}


def test_f7_unscored_rollouts_leave_the_denominator_and_too_few_scored_ones_drop_the_question() -> None:
    measured = measure([True, None, False, None, False])
    assert (measured.rate, measured.scored, measured.unscored) == (1 / 3, 3, 2) and measured.frontier
    dropped = measure([True, None, None, None, None])
    assert dropped.rate is None and not dropped.frontier and dropped.unscored == 4
    assert measure([True, False, None], min_valid=3).rate is None
    assert measure([]).rate is None
    with pytest.raises(BadInput, match="only 2 rollouts"):
        check_rollouts(load_shape("min"), 2, 3)


def test_f6_a_question_that_is_asked_again_costs_its_share_of_the_batch() -> None:
    same = "Who wrote the opera about the general of Venice and his wife?"
    batch = [same, same.replace("general", "moor"), "Which river crosses the birthplace of the inventor?", same]
    for embedder in (None, HashEmbedder()):
        assert repetition(batch, embedder) == [0.75, 0.75, 0.25, 0.75]
    assert repetition([]) == [] and repetition(["one"]) == [1.0]
    assert repetition(batch, limit=0.0) == [0.5, 0.25, 0.25, 0.5]


@given(st.lists(st.text(alphabet="ab c", max_size=12), min_size=1, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_f6_shares_do_not_depend_on_case_and_sum_up_to_clusters(batch: list[str], draw: object) -> None:
    shares = repetition(batch)
    assert all(1 / len(batch) <= share <= 1 for share in shares)
    assert sum(1 / (share * len(batch)) for share in shares) == pytest.approx(len(set(clusters(distances(batch)))))
    assert repetition([text.upper() for text in batch]) == shares


def test_bleu_agrees_with_values_worked_out_by_hand() -> None:
    score = bleu(["the cat sat on the mat", "the cat sat on the mat", "a dog", ""])
    assert score[0, 1] == pytest.approx(1.0) and score[0, 2] == 0.0 and score[0, 3] == 0.0 and score[3, 3] == 1.0
    pair = bleu(["a b c d e", "a b c d f"])
    # unigrams 4/5, bigrams (3+1)/(4+1), trigrams (2+1)/(3+1), 4-grams (1+1)/(2+1), equal lengths
    assert pair[0, 1] == pytest.approx((4 / 5 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25)


def test_specs_read_back_and_bad_ones_name_what_there_is() -> None:
    for name in SHAPES:
        shape = load_shape(name)
        assert load_shape(shape_spec(shape)) == shape and load_shape(shape) is shape
    for wrong in (
        "bell",
        "gaussian?mu",
        "gaussian?nu=1",
        "gaussian?mu=x",
        "gaussian?mu=nan",
        "gaussian?mu=0",
        "gaussian?sigma=0",
        "quadratic?left=1&right=0",
        "min?mu=1",
        "gaussian?mu=.5&mu=.6",
        "",
        3,
    ):
        with pytest.raises(BadInput):
            load_shape(wrong)  # type: ignore[arg-type]
