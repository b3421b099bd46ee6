"""Intervals and tests against values computed elsewhere, and the rule that the unmeasured is never 0."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym import stats
from metagym.episodes import Episode, Status
from metagym.errors import BadInput
from metagym.stats import Estimate
from metagym.tasks import Task


def episode(task_id: str, success: bool | None, status: Status = Status.OK, ret: float | None = None) -> Episode:
    return Episode(
        task=Task("Toy", task_id),
        turns=(),
        last_observation="",
        ret=float(bool(success)) if ret is None else ret,
        success=success,
        status=status,
    )


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # scipy 1.17.1: scipy.stats.binomtest(k, n).proportion_ci(method="wilson")
        (15, 148, 0.06238639953073629, 0.16048724172330803),
        (0, 10, 0.0, 0.27753279986288926),
        (10, 10, 0.7224672001371109, 1.0),
        (110, 134, 0.7473197986028968, 0.876585380113108),
        (1, 1, 0.20654931437723745, 1.0),
        (41, 50, 0.6920394632569922, 0.9022980732976582),
    ],
)
def test_wilson_interval_equals_scipy(successes, n, low, high):
    estimate = stats.wilson(successes, n)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-12)
    assert estimate.value == successes / n


def test_wilson_interval_equals_newcombe_1998():
    # Newcombe (1998), Statistics in Medicine 17, 857-872, table I, method 3 (score): 81/263 and 1/29.
    assert stats.wilson(81, 263).interval(4) == "[0.2553, 0.3662]"
    assert stats.wilson(1, 29).interval(4) == "[0.0061, 0.1718]"


MOUSE = [94, 197, 16, 38, 99, 141, 23]  # Efron & Tibshirani (1993), table 2.1, treatment group


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bca_interval_equals_scipy_and_the_complete_enumeration(seed):
    # scipy 1.17.1, stats.bootstrap(method="BCa", n_resamples=400000), and all 7**7 resamples: [46.2857, 138.2857].
    estimate = stats.mean(MOUSE, seed=seed, resamples=49_999)
    assert estimate.value == pytest.approx(86.857142857)
    assert estimate.low == pytest.approx(46.2857, abs=1.0)
    assert estimate.high == pytest.approx(138.2857, abs=1.5)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_bca_intervals_scale_with_the_data(scale):
    plain, scaled = stats.mean(MOUSE), stats.mean([value * scale for value in MOUSE])
    assert (scaled.low, scaled.high) == pytest.approx((plain.low * scale, plain.high * scale), rel=1e-9)


def test_bca_interval_of_zeros_and_ones_equals_scipy():
    estimate = stats.mean([0] * 17 + [1] * 3)  # scipy 1.17.1, 200000 resamples: [0.05, 0.35]
    assert (estimate.low, estimate.high) == pytest.approx((0.05, 0.35))


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [
        # scipy 1.17.1: scipy.stats.binomtest(min(b, c), b + c).pvalue
        (59, 6, 4.964650327128616e-12),
        (2, 11, 0.0224609375),
        (0, 5, 0.0625),
        (4, 4, 1.0),
        (150, 86, 3.7159361395713866e-05),  # the table of Agresti's approval ratings
        (0, 0, 1.0),
    ],
)
def test_mcnemar_equals_the_binomial_test(only_a, only_b, p):
    a = {f"a{i}": True for i in range(only_a)} | {f"b{i}": False for i in range(only_b)} | {"x": True, "y": None}
    b = {f"a{i}": False for i in range(only_a)} | {f"b{i}": True for i in range(only_b)} | {"x": True, "y": True}
    result = stats.mcnemar(a, b)
    assert (result.both, result.only_a, result.only_b, result.neither) == (1, only_a, only_b, 0)
    assert result.p == pytest.approx(p, rel=1e-12)


def test_mcnemar_of_nothing_has_no_p_value():
    assert stats.mcnemar({"x": True}, {"y": True}).p is None
    assert str(stats.mcnemar({"x": None}, {"x": True})) == "no pair to compare"


def test_the_unmeasured_is_never_zero():
    for estimate in (stats.rate([]), stats.rate([None]), stats.mean([math.nan, None]), stats.paired_difference({}, {})):
        assert estimate.value is None
        assert not estimate.measured
        assert str(estimate).startswith("- n=0")
    assert str(stats.rate([None, None])) == "- n=0 (2 unscored)"


def test_unscored_values_enter_no_figure_and_are_counted():
    assert str(stats.rate([True, None, False, True, True])) == "0.75 [0.30, 0.95] n=4 (1 unscored)"
    estimate = stats.mean([1.0, None, 3.0, math.inf, math.nan])
    assert (estimate.value, estimate.n, estimate.unscored) == (2.0, 2, 3)


def test_a_sample_without_spread_has_no_bootstrap_interval():
    assert str(stats.mean([0.0] * 5)) == "0.00 [-] n=5"
    assert str(stats.mean([0.25])) == "0.25 [-] n=1"


def test_a_difference_is_paired_by_key():
    a = {f"t{i}": float(i) for i in range(20)} | {"only a": 99.0}
    b = {f"t{i}": i + 1.0 + (i % 2) for i in reversed(range(20))} | {"only b": -99.0}
    estimate = stats.paired_difference(a, b)
    assert estimate.value == 1.5
    assert estimate.n == 20
    assert estimate.low is not None and 1.2 < estimate.low < 1.5 < estimate.high < 1.8  # not the tasks' own spread
    assert estimate.text(sign=True).startswith("+1.50 [+1.")
    assert estimate == stats.paired_difference(dict(reversed(a.items())), b)


def test_paired_rates_equal_the_literature():
    # Fagerland, Lydersen & Laake (2014), Stat. Med. 33, 2850-2875: airway hyper-responsiveness data, Newcombe.
    estimate = stats.paired_rates(both=1, only_a=1, only_b=7, neither=12)
    assert estimate.text(3) == "0.286 [0.026, 0.507] n=21"


def test_differences_without_spread_are_bounded_all_the_same():
    lost, won = dict.fromkeys("abcdefghij", False), dict.fromkeys("abcdefghij", True)
    up = stats.paired_difference(lost, won)
    assert up.value == up.high == 1.0 and up.low is not None and 0.5 < up.low < 0.8 and "Newcombe" in up.method
    down = stats.paired_difference(won, lost)
    assert (down.value, down.low, down.high) == (-1.0, -1.0, pytest.approx(-up.low))
    half = {key: key < "f" for key in lost}
    same = stats.paired_difference(half, half)
    assert same.value == 0 and same.low is not None and same.low < 0 < same.high == pytest.approx(-same.low)
    assert stats.paired_difference({"a": 0.5, "b": 0.5}, {"a": 2.0, "b": 2.0}).low is None
    assert stats.paired_difference({"a": math.nan, "b": 1.0}, {"a": 1.0, "b": 1.0}).unscored == 1


def test_a_small_negative_number_is_not_printed_as_minus_zero():
    assert Estimate(-0.001, -0.004, 0.004, 9).text(sign=True) == "0.00 [0.00, 0.00] n=9"


def test_equal_seeds_give_equal_intervals_and_other_seeds_others():
    values = [0.1 * (i % 7) + i * 0.013 for i in range(31)]
    assert stats.mean(values, seed=0) == stats.mean(values, seed=0)
    assert stats.mean(values, seed=0) != stats.mean(values, seed=1)


def test_the_resampling_stream_is_pinned():
    # A change here would silently change every published interval.
    values = [0.0, 1.0, 2.0, 5.0, 7.0, 11.0]
    assert stats.mean(values, seed=3).interval(3) == "[1.833, 8.000]"


def test_large_samples_are_resampled_in_parts():
    estimate = stats.mean([float(i % 2) for i in range(30_000)], resamples=200)
    assert estimate.value == 0.5
    assert estimate.low is not None and 0.49 < estimate.low < 0.5 < estimate.high < 0.51


@pytest.mark.parametrize(
    "call",
    [
        lambda: stats.wilson(3, 2),
        lambda: stats.wilson(-1, 2),
        lambda: stats.rate([True], confidence=1.0),
        lambda: stats.paired_rates(1, -1, 0, 0),
        lambda: stats.mean([1.0, 2.0], resamples=5),
        lambda: stats.mean([1.0, 2.0], seed=-1),
        lambda: Estimate.from_json({"value": 1}),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(BadInput):
        call()


def test_success_of_distinct_tasks_is_wilson():
    episodes = [episode(f"t{i}", i < 3) for i in range(4)] + [episode("t9", True, Status.ERROR), episode("t8", None)]
    estimate = stats.success_estimate(episodes)
    assert str(estimate) == "0.75 [0.30, 0.95] n=4 (2 unscored)"
    assert estimate.method == "wilson 95%"


def test_repeated_plays_of_a_task_are_no_independent_trials():
    once = [episode(f"t{i}", i < 5) for i in range(10)]
    estimate = stats.success_estimate(once * 20)
    assert estimate.value == 0.5
    assert estimate.n == 10
    assert "over tasks" in estimate.method
    assert estimate.low is not None and estimate.low < 0.3  # 200 independent trials would say 0.43
    assert stats.success_estimate([episode("a", False), episode("a", False)]).interval() == "[0.00, 0.79]"


def test_returns_are_means_over_tasks():
    estimate = stats.return_estimate([episode("a", None, ret=1.0), episode("a", None, ret=3.0), episode("b", True)])
    assert (estimate.value, estimate.n) == (1.5, 2)


@given(st.integers(0, 200), st.integers(0, 200))
@settings(deadline=None, max_examples=60)
def test_a_wilson_interval_holds_its_rate_and_stays_in_the_unit_interval(successes, failures):
    estimate = stats.wilson(successes, successes + failures)
    if estimate.value is None:
        assert successes + failures == 0
    else:
        assert estimate.low is not None and estimate.high is not None
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
        mirrored = stats.wilson(failures, successes + failures)
        assert mirrored.high == pytest.approx(1 - estimate.low)


@given(st.lists(st.floats(-1e250, 1e250), min_size=2, max_size=30))
@settings(deadline=None, max_examples=60)
def test_a_bootstrap_interval_stays_inside_the_data(values):
    estimate = stats.mean(values, resamples=199)
    if estimate.low is not None and estimate.high is not None:
        slack = 1e-9 * max(1.0, *map(abs, values))
        assert min(values) - slack <= estimate.low <= estimate.high <= max(values) + slack
    assert Estimate.from_json(estimate.to_json()) == estimate


@pytest.mark.parametrize(
    ("n", "low", "high"),
    # Conover (1999), Practical Nonparametric Statistics, section 3.2: the ranks of the sign test's 95 % interval.
    [(1, None, None), (5, None, None), (6, 1, 6), (8, 1, 8), (9, 2, 8), (11, 2, 10), (12, 3, 10), (20, 6, 15)],
)
def test_the_median_has_the_exact_interval_of_the_sign_test(n, low, high):
    estimate = stats.median(reversed(range(1, n + 1)))
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == ((n + 1) / 2, low, high, n)
    assert estimate.method == "order statistics 95%"


def test_a_median_leaves_out_what_was_not_measured():
    estimate = stats.median([None, 3.0, float("nan"), 1.0])
    assert (estimate.value, estimate.low, estimate.n, estimate.unscored) == (2.0, None, 2, 2)
    assert stats.median([]).value is None
    with pytest.raises(BadInput, match="confidence"):
        stats.median([1.0], confidence=1.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(6, 14), st.integers(0, 2**32))
def test_the_interval_of_a_median_covers_it_as_often_as_it_says(n, seed):
    import random

    draw = random.Random(seed)
    samples = [stats.median([draw.expovariate(1.0) for _ in range(n)]) for _ in range(400)]
    covered = sum(s.low <= math.log(2) <= s.high for s in samples if s.low is not None)
    assert covered / len(samples) > 0.91  # at least 0.95 in truth, four standard errors below it
