"""Regret on paired seeds: unbiased, honest about failures, and the same whatever the timing."""

import asyncio
import json
import math
import statistics
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.spade_rewards import Archetype, coverage, estimates, plays
from metagym import stats
from metagym.errors import BadInput, BudgetExceeded
from metagym.seeding import rng
from metagym.spade.estimates import _expanded
from metagym.spade.regret import (
    FAILURES,
    HINTED,
    PLAIN,
    Outcome,
    RegretEstimate,
    Sequential,
    estimate,
    estimate_regret,
    estimate_regret_sync,
    pair_seeds,
)


def wins(arm, *successes):
    return [Outcome(seed, arm=arm, success=success) for seed, success in enumerate(successes)]


class Coins:
    """A player whose agent wins each seed with a chance of its own, decided by the two seeds alone."""

    def __init__(self, p=0.5, q=0.9, fail=lambda seed, hint, sampling: None):
        self.p, self.q, self.fail, self.calls = p, q, fail, []

    async def __call__(self, program, seed, hint, agent, sampling_seed):
        self.calls.append((seed, hint, sampling_seed))
        await asyncio.sleep((sampling_seed % 3) * 1e-4)  # plays end in another order than they began
        if failure := self.fail(seed, hint, sampling_seed):
            return Outcome(seed, failure=failure)
        chance = self.p if hint is None else self.q
        return Outcome(seed, ret=2.0, success=rng(sampling_seed, "coin").random() < chance, steps=4, invalid=1)


# --- the numbers


def test_paired_estimate_equals_a_table_done_by_hand():
    # Seeds: both, gained x3, lost, neither.
    found = estimate(
        wins(0, True, False, False, False, True, False), wins(1, True, True, True, True, False, False), binary=True
    )
    assert found.p0.value == pytest.approx(2 / 6) and found.p1.value == pytest.approx(4 / 6)
    assert found.regret.value == pytest.approx(2 / 6)
    assert found.regret == stats.paired_rates(both=1, only_a=1, only_b=3, neither=1)
    differences = [0, 1, 1, 1, -1, 0]
    assert found.se == pytest.approx(statistics.stdev(differences) / math.sqrt(6))
    assert found.n_eff == pytest.approx((statistics.variance([1, 0, 0, 0, 1, 0]) * 2) / found.se**2)
    assert found.learnability is None and found.teachable is None  # one play per seed cannot show them
    assert found.plain.variance == pytest.approx(2 / 9)


def test_within_seed_figures_equal_a_table_done_by_hand():
    outcomes = {0: [(1, 1), (1, 0), (0, 0), (0, 1)], 1: [(1, 1), (1, 1), (1, 1), (0, 1)]}
    arms = [
        [Outcome(s, r, arm, success=bool(won)) for s, pair in enumerate(outcomes[arm]) for r, won in enumerate(pair)]
        for arm in (0, 1)
    ]
    found = estimate(*arms, binary=True)
    assert found.learnability.value == pytest.approx((0 + 0.5 + 0 + 0.5) / 4)  # k(m-k)/(m(m-1))
    assert found.teachable.value == pytest.approx(((1 - 1) + 0.5 + 0 + 0.25) / 4)  # q k/m - k(k-1)/(m(m-1))
    assert found.regret.value == pytest.approx((0 + 0.5 + 1 + 0) / 4)
    assert found.regret.low < found.regret.value < found.regret.high


def test_returns_are_compared_by_seed_and_bootstrapped():
    arms = [[Outcome(s, arm=arm, ret=10.0 * s + arm * (1 + s % 2)) for s in range(12)] for arm in (0, 1)]
    found = estimate(*arms, binary=False)
    assert found.regret.value == pytest.approx(1.5)
    assert 1 <= found.regret.low < 1.5 < found.regret.high <= 2
    apart = estimate(*arms, binary=False, estimator="unpaired")
    assert apart.regret.value == pytest.approx(1.5)
    assert apart.regret.low < -10 and apart.n_eff == pytest.approx(12)
    assert found.n_eff > 1000  # pairing took the seeds' own spread out
    assert found.plain.win_rate is None and found.learnability is None


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.95), (0.0, 0.05)])
def test_mean_of_ten_thousand_replications_is_within_three_standard_errors(p, q):
    draws, values, of_se = rng(1, "unbiased", str(p), str(q)), [], []
    for _ in range(10_000):
        found = estimate(*plays(draws, [p] * 4, [q] * 4), binary=True)
        values.append(found.regret.value)
        of_se.append(found.se**2)
    assert abs(statistics.fmean(values) - (q - p)) <= 3 * statistics.pstdev(values) / 100 + 1e-12
    # The stated standard error is right on average, too.
    assert statistics.fmean(of_se) == pytest.approx(statistics.pvariance(values), rel=0.06, abs=1e-12)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.5, 0.95), (0.15, 0.6), (0.0, 1.0)])
def test_within_seed_figures_are_unbiased_with_two_plays(p, q):
    draws, learn, teach = rng(2, "unbiased", str(p), str(q)), [], []
    for _ in range(500):
        found = estimate(*plays(draws, [p] * 3, [q] * 3, 2), binary=True, resamples=100)
        learn.append(found.learnability.value)
        teach.append(found.teachable.value)
    for values, true in ((learn, p * (1 - p)), (teach, p * (q - p))):
        assert abs(statistics.fmean(values) - true) <= 3 * statistics.pstdev(values) / math.sqrt(500) + 1e-12


@pytest.mark.parametrize("spread", [0, 1, 2, 4])
def test_paired_variance_is_at_most_the_unpaired_one(spread):
    """Seeds of different difficulty (normal logits); both arms on the same seeds, or each on its own."""
    draws = rng(3, "variance", spread)

    def chances(logits, shift):
        return [1 / (1 + math.exp(-(logit * spread + shift))) for logit in logits]

    def fresh():
        return [draws.gauss(0, 1) for _ in range(16)]

    paired, unpaired = [], []
    for _ in range(1_000):
        same = fresh()
        found = estimate(*plays(draws, chances(same, 0), chances(same, 1)), binary=True)
        paired.append(found.regret.value)
        found = estimate(*plays(draws, chances(fresh(), 0), chances(fresh(), 1)), binary=True, estimator="unpaired")
        unpaired.append(found.regret.value)
    ratio = statistics.variance(unpaired) / statistics.variance(paired)
    grid = [statistics.NormalDist().inv_cdf((i + 0.5) / 2000) for i in range(2000)]
    p, q = chances(grid, 0), chances(grid, 1)
    of_play = sum(statistics.fmean(side) * (1 - statistics.fmean(side)) for side in (p, q))
    true = of_play / (of_play - 2 * statistics.covariance(p, q))
    assert true >= 1 and (true > 2) == (spread == 4)
    assert ratio == pytest.approx(true, rel=0.2)  # a ratio of two variances of 1,000 values has a standard error of 6%


@pytest.mark.parametrize(
    ("p", "q", "low", "high"), [(0.5, 0.5, 0.93, 0.97), (0.5, 0.9, 0.93, 0.98), (0.0, 0.05, 0.95, 1.0)]
)
@pytest.mark.parametrize("estimator", ["paired", "unpaired"])
def test_interval_of_sixteen_binary_pairs_holds_the_truth_as_often_as_it_says(p, q, low, high, estimator):
    # A percentile bootstrap covers (0, 0.05) 54% of the time.
    assert low <= coverage(Archetype("", (p,), (q,)), 16, 1, 600, estimator) <= high


@pytest.mark.parametrize(("p", "q"), [(0.15, 0.6), (0.0, 0.05)])
def test_interval_of_repeated_plays_holds_the_truth(p, q):
    assert 0.92 <= coverage(Archetype("", (p,), (q,)), 16, 2, 200, "paired") <= 1.0


def test_without_spread_the_interval_is_wide_not_a_point():
    found = estimate(*plays(rng(0), [0.0] * 16, [1.0] * 16, 2), binary=True)
    assert found.regret.value == 1 and found.regret.high == 1 and 0.5 < found.regret.low < 0.7
    assert found.teachable.value == 0 and found.teachable.low < 0 < found.teachable.high
    assert found.se == 0 and found.n_eff is None
    # 1 - 0.025^(1/16): the largest share of other seeds under which 16 alike are not rarer than 2.5%.
    assert found.regret.low == pytest.approx(1 - 2 * (1 - 0.025 ** (1 / 16)))


# --- what was not measured


@pytest.mark.parametrize("arm", [PLAIN, HINTED])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_in_either_arm_takes_its_seed_out_of_both(arm, failure):
    arms = [wins(0, True, False, False, True), wins(1, True, True, True, True)]
    arms[arm][1] = Outcome(1, arm=arm, failure=failure)
    found = estimate(*arms, binary=True)
    assert (found.regret.n, found.regret.unscored) == (3, 1)
    assert found.p0.value == pytest.approx(2 / 3) and found.p1.value == 1
    failed, other = (found.plain, found.hinted) if arm == PLAIN else (found.hinted, found.plain)
    assert failed.failures == {kind: int(kind == failure) for kind in FAILURES} and (failed.plays, failed.scored) == (
        4,
        3,
    )
    assert other.failures == dict.fromkeys(FAILURES, 0) and (other.plays, other.scored) == (4, 4)
    assert found.unequal_failures and found.invalidated == (failure == "env_error")


def test_equal_failures_raise_no_flag_and_failures_alone_measure_nothing():
    both = estimate(
        [*wins(0, True), Outcome(1, arm=0, failure="timeout")],
        [*wins(1, True), Outcome(1, arm=1, failure="timeout")],
        binary=True,
    )
    assert not both.unequal_failures and not both.invalidated and both.regret.n == 1
    nothing = estimate([Outcome(0, failure="agent_error")], [Outcome(0, arm=1, failure="agent_error")], binary=True)
    assert nothing.regret.value is None and nothing.p0.value is None and nothing.plain.win_rate is None
    assert nothing.regret.unscored == 1 and nothing.plain.variance is None


def test_s15_a_play_that_nobody_could_judge_is_left_out_and_counted():
    found = estimate([*wins(0, True, True), Outcome(2, ret=0.0)], wins(1, True, True, True), binary=True)
    assert found.regret.n == 2 and found.regret.unscored == 1 and found.p0.value == 1
    assert (found.plain.plays, found.plain.scored, sum(found.plain.failures.values())) == (3, 2, 0)


def test_failures_do_not_bias_the_estimate():
    """A fifth of the plays fails, in either arm, whatever their result would have been."""
    draws, values = rng(4, "failing"), []
    for _ in range(1_500):
        arms = plays(draws, [0.5] * 6, [0.9] * 6)
        arms = [
            [Outcome(o.seed, arm=o.arm, failure="agent_error") if draws.random() < 0.2 else o for o in arm]
            for arm in arms
        ]
        value = estimate(*arms, binary=True).regret.value
        if value is not None:
            values.append(value)
    assert abs(statistics.fmean(values) - 0.4) <= 3 * statistics.pstdev(values) / math.sqrt(len(values))


def test_order_of_plays_changes_nothing():
    arms = plays(rng(5), [0.2, 0.5, 0.8] * 4, [0.5, 0.7, 0.9] * 4, 3)
    assert estimate(*arms, binary=True) == estimate(arms[0][::-1], arms[1][::-1], binary=True)


@pytest.mark.parametrize(
    "outcomes",
    [
        ([Outcome(0), Outcome(0)], []),
        ([Outcome(0, arm=1)], []),
        ([], [Outcome(0, arm=0)]),
    ],
)
def test_a_play_in_the_wrong_arm_or_twice_is_refused(outcomes):
    with pytest.raises(BadInput, match="seed 0"):
        estimate(*outcomes, binary=True)


@pytest.mark.parametrize(
    "fields",
    [
        {"failure": "timeout", "ret": 0.0},
        {"failure": "agent_error", "success": False},
        {"failure": "hiccup"},
        {"success": 1},
        {"ret": math.nan},
        {"steps": 1, "invalid": 2},
        {"steps": -1},
        {"arm": 2},
        {"seed": -1},
    ],
)
def test_an_impossible_outcome_is_refused(fields):
    with pytest.raises(BadInput):
        Outcome(**{"seed": 0, **fields})


# --- records

scripted = st.builds(
    lambda p, q, n, m, seed, binary, way: (plays(rng(seed), [p] * n, [q] * n, m), binary, way),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 6),
    st.integers(1, 3),
    st.integers(0, 1000),
    st.booleans(),
    st.sampled_from(["paired", "unpaired"]),
)


@given(scripted)
@settings(max_examples=40, deadline=None)
def test_estimate_survives_json(drawn):
    arms, binary, way = drawn
    found = estimate(*arms, binary=binary, estimator=way, resamples=100)
    assert RegretEstimate.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False))) == found


def test_outcome_survives_json_and_damaged_records_are_refused():
    outcome = Outcome(3, 1, 1, ret=0.5, success=True, steps=7, invalid=2)
    assert Outcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome
    with pytest.raises(BadInput, match="not an outcome"):
        Outcome.from_json({"seeds": 3})
    for damaged in ({"plain": {}}, {}, "regret", None):
        with pytest.raises(BadInput, match="not an estimate of regret"):
            RegretEstimate.from_json(damaged)


# --- seeds


def test_seeds_are_the_same_in_every_process():
    program = "from metagym.spade.regret import pair_seeds; print(pair_seeds('abc', 3, 4))"
    for salt in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": salt}
        )
        assert done.stdout.strip() == str(pair_seeds("abc", 3, 4)) == "[258684025, 435269314, 709241447, 654609593]"


def test_seeds_differ_between_programs_rounds_and_runs_and_fit_any_generator():
    lists = [
        pair_seeds("abc", 0, 64),
        pair_seeds("abd", 0, 64),
        pair_seeds("abc", 1, 64),
        pair_seeds("abc", 0, 64, seed=1),
    ]
    assert len({seed for seeds in lists for seed in seeds}) == 4 * 64
    assert all(0 <= seed < 2**31 for seeds in lists for seed in seeds)
    assert pair_seeds("abc", 0, 8) == pair_seeds("abc", 0, 64)[:8]


# --- playing


def test_both_arms_get_the_same_seeds_and_every_play_its_own_draws():
    player, kept = Coins(), []
    found = estimate_regret_sync(
        "program", "agent", pair_seeds("abc", 0, 5), "look left", 2, player=player, keep=kept.append
    )
    plain = [seed for seed, hint, _ in player.calls if hint is None]
    hinted = [seed for seed, hint, _ in player.calls if hint == "look left"]
    assert sorted(plain) == sorted(hinted) == sorted(pair_seeds("abc", 0, 5) * 2)
    assert len({sampling for _, _, sampling in player.calls}) == 20
    assert [(o.arm, o.seed, o.repeat) for o in kept] == [
        (arm, seed, repeat) for arm in (0, 1) for seed in pair_seeds("abc", 0, 5) for repeat in (0, 1)
    ]
    assert found.plain.steps == 4 and found.plain.invalid_rate == 0.25 and found.looks == 1 and not found.stopped_early
    assert found == estimate(kept[:10], kept[10:], binary=True)
    assert found == estimate_regret_sync("program", "agent", pair_seeds("abc", 0, 5), "look left", 2, player=Coins())


def test_unpaired_arms_have_seeds_of_their_own():
    player = Coins()
    found = estimate_regret_sync("p", "a", range(8), "hint", player=player, estimator="unpaired")
    plain = {seed for seed, hint, _ in player.calls if hint is None}
    hinted = {seed for seed, hint, _ in player.calls if hint is not None}
    assert plain == set(range(8)) and len(hinted) == 8 and not plain & hinted
    assert found.estimator == "unpaired" and found.regret.n == 8 and found.regret.low is not None
    assert found.teachable is None


def test_without_a_hint_only_the_plain_arm_is_played_and_regret_is_unmeasured():
    player = Coins()
    found = estimate_regret_sync("p", "a", range(6), None, 2, player=player, sequential=Sequential())
    assert len(player.calls) == 12 and found.regret.value is None and found.se is None
    assert found.p0.value is not None and found.learnability.value is not None and found.teachable is None
    assert not found.unequal_failures


def test_returns_are_scored_where_asked():
    found = estimate_regret_sync("p", "a", range(4), "hint", player=Coins(), binary=False)
    assert found.p0.value == 2.0 and found.regret.value == 0 and found.regret.low is None
    assert 0 <= found.plain.win_rate <= 1


def test_failed_plays_are_typed_and_counted():
    player = Coins(fail=lambda seed, hint, _: "timeout" if seed == 2 and hint else None)
    found = estimate_regret_sync("p", "a", range(6), "hint", player=player)
    assert found.hinted.failures["timeout"] == 1 and found.regret.n == 5 and found.unequal_failures


def test_an_exception_of_the_player_ends_the_estimate_and_its_other_plays():
    running = []

    async def player(program, seed, hint, agent, sampling_seed):
        if seed == 3:
            raise BudgetExceeded("the budget of calls is spent")
        running.append(seed)
        try:
            await asyncio.sleep(30)
        finally:
            running.remove(seed)

    with pytest.raises(BudgetExceeded):
        estimate_regret_sync("p", "a", range(5), "hint", player=player)
    assert running == []


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"seeds": []}, "seeds"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"seeds": [-1]}, "seed"),
        ({"seeds": None}, "seeds are a list"),
        ({"seeds": "12"}, "seeds are a list"),
        ({"repeats": 0}, "repeats"),
        ({"estimator": "both"}, "estimator"),
        ({"hint": 3}, "hint"),
    ],
)
def test_unusable_settings_are_refused_before_any_play(settings_, message):
    player = Coins()
    given_ = {"seeds": [1, 2], "hint": "hint", "player": player, **settings_}
    with pytest.raises(BadInput, match=message):
        estimate_regret_sync("p", "a", given_.pop("seeds"), given_.pop("hint"), **given_)
    assert not player.calls


def test_a_player_that_returns_no_outcome_is_named():
    async def player(*_):
        return 0.5

    with pytest.raises(BadInput, match="must return an Outcome"):
        estimate_regret_sync("p", "a", [1], "hint", player=player)


# --- stopping early


def test_a_clear_regret_ends_the_plays_and_says_so():
    player = Coins(p=0.0, q=1.0)
    found = estimate_regret_sync("p", "a", range(32), "hint", player=player, sequential=Sequential(looks=4))
    assert found.stopped_early and found.looks == 1 and len(player.calls) == 16  # 8 of 8: p = 2/2^8 < 0.05/4
    assert found.regret.method.endswith("98.75%") and found.regret.low > 0


def test_a_seed_with_one_failed_play_counts_in_no_arm():
    # What is left of such a seed is no fair draw of it: hard plays may be those that fail.
    plain = [Outcome(seed, repeat, success=True) for seed in range(3) for repeat in range(2)]
    hinted = [Outcome(seed, repeat, HINTED, success=True) for seed in range(3) for repeat in range(2)]
    plain[1] = Outcome(0, 1, failure="agent_error")
    for binary in (True, False):
        given = (
            [replace(play, ret=None if play.failure else 1.0) for play in plain],
            [replace(play, ret=1.0) for play in hinted],
        )
        found = estimate(*given, binary=binary)
        assert (found.regret.n, found.regret.unscored, found.plain.counted, found.hinted.counted) == (2, 1, 4, 4)
        assert (found.plain.plays, found.plain.scored) == (6, 5)


@pytest.mark.parametrize(("n", "t"), [(5, 2.776445), (8, 2.364624), (16, 2.131450), (31, 2.042272), (201, 1.971896)])
def test_the_bootstrap_is_as_wide_as_the_t_interval(n, t):
    tail = statistics.NormalDist().cdf(-math.sqrt(n / (n - 1)) * t)
    assert _expanded(0.95, n) == pytest.approx(1 - 2 * tail, abs=2e-5)


@pytest.mark.parametrize(("alpha", "looks"), [(0.0624, 2), (0.0626, 1)])
@pytest.mark.parametrize(("p", "q"), [(0.0, 1.0), (1.0, 0.0)])
def test_each_look_has_its_share_of_alpha(alpha, looks, p, q):
    # 6 of 6 to one side: p = 2 / 2^6 = 0.03125, half of 0.0625
    rule = Sequential(looks=2, alpha=alpha)
    found = estimate_regret_sync("p", "a", range(12), "hint", player=Coins(p, q), sequential=rule)
    assert (found.looks, found.stopped_early) == (looks, looks == 1)


def test_with_repeats_the_interval_decides_on_either_side():
    for p, q in ((0.0, 1.0), (1.0, 0.0)):
        found = estimate_regret_sync(
            "p", "a", range(32), "hint", repeats=2, player=Coins(p, q), sequential=Sequential(looks=2)
        )
        assert found.stopped_early and (found.regret.low > 0 or found.regret.high < 0)


def test_an_unclear_regret_uses_the_budget():
    player = Coins(p=0.5, q=0.5)
    found = estimate_regret_sync("p", "a", range(16), "hint", player=player, sequential=Sequential(looks=4))
    assert not found.stopped_early and found.looks == 4 and len(player.calls) == 32


def test_a_program_that_fails_is_not_played_to_the_end():
    player = Coins(fail=lambda *_: "env_error")
    found = estimate_regret_sync("p", "a", range(16), "hint", player=player, sequential=Sequential(looks=4))
    assert found.invalidated and not found.stopped_early and len(player.calls) == 8


def test_stopping_early_keeps_its_error_rate():
    """At a true regret of 0 at most alpha of the series stop, whatever the number of looks."""

    async def series(chance):
        stopped = 0
        for number in range(250):

            async def player(program, seed, hint, agent, sampling_seed):
                return Outcome(seed, success=rng(sampling_seed).random() < chance)

            found = await estimate_regret(
                "p",
                "a",
                pair_seeds("null", number, 24),
                "hint",
                player=player,
                sequential=Sequential(looks=6, alpha=0.2),
            )
            stopped += found.stopped_early
        return stopped / 250

    assert asyncio.run(series(0.5)) <= 0.2


@pytest.mark.parametrize("fields", [{"looks": 0}, {"alpha": 0}, {"alpha": 1}, {"alpha": 2}])
def test_unusable_rules_for_stopping_are_refused(fields):
    with pytest.raises(BadInput):
        Sequential(**fields)


def test_replications_of_the_tables_are_seeded():
    kind = Archetype("x", (0.5,), (0.9,))
    assert list(estimates(kind, 4, 2, 3)) == list(estimates(kind, 4, 2, 3))
