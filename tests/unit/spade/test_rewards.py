"""What a designer is paid: the acceptance table, the boundary cases, bounds, and missing evidence that is never 0."""

import json
import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import spade_rewards as benchmark
from benchmarks.spade_rewards import ARCHETYPES, Archetype, average, estimates, evidence, exact, plays
from metagym.errors import BadInput, UnknownName
from metagym.seeding import rng
from metagym.spade import rewards
from metagym.spade.regret import Outcome, estimate
from metagym.spade.rewards import (
    PRESETS,
    DesignerReward,
    Evidence,
    FrontierPenalty,
    LeakPenalty,
    Learnability,
    MicroLP,
    MinP,
    Novelty,
    OneMinusP,
    Plateau,
    Regret,
    Repetition,
    RewardBreakdown,
    SkillCoverage,
    SolverVariance,
    TeachableRegret,
    TimeoutPenalty,
    Validity,
    WinShift,
    preset,
)

TERMS = (
    Validity(-1),
    TimeoutPenalty(),
    Regret(),
    Regret(floor=-1, scale=0.5),
    Regret(correction="bias"),
    Regret(floor=-0.3, correction="bias"),
    Regret(correction="lower_bound"),
    TeachableRegret(),
    TeachableRegret(lower_bound=False),
    Plateau(),
    Plateau(0.2, 0.4, 0.2),
    Learnability(),
    Learnability(within_seed=False),
    SolverVariance(),
    OneMinusP(),
    OneMinusP(-0.5),
    MinP(),
    WinShift(),
    MicroLP(),
    FrontierPenalty(),
    Novelty(),
    Repetition(),
    LeakPenalty(),
    SkillCoverage(),
)
"""Every term, every option."""


def known(p, q, n=16, repeats=1):
    """Evidence of a program of which exactly the shares p and q of the seeds are won."""
    return evidence(
        estimate(*plays(rng(0), *[[float(s < round(c * n)) for s in range(n)] for c in (p, q)], repeats), binary=True)
    )


def total(name, given, **options):
    return preset(name, **options)(given).total


# --- the acceptance table, 16 plays per arm

# (p, q): spade_blend, 4p(1-p), azr, rzero, spice; the expected values as published with the issue, from a simulation.
TABLE = {
    (1.0, 1.0): (0.000, 0.0, 0.0, 0.0, 0.044),
    (0.0, 0.0): (0.000, 0.0, 0.0, 0.0, 0.044),
    (0.5, 0.95): (0.925, 0.938, 0.500, 0.402, 0.970),
    (0.5, 0.5): (0.661, 0.938, 0.500, 0.402, 0.970),
    (0.0, 1.0): (0.400, 0.0, 0.0, 0.0, 0.044),
    (0.15, 0.6): (0.482, 0.478, 0.776, 0.150, 0.465),
    (0.9, 1.0): (0.263, 0.337, 0.100, 0.100, 0.310),
    (0.5, 0.3): (0.549, 0.937, 0.500, 0.402, 0.970),
}


@pytest.mark.parametrize(("p", "q"), TABLE)
def test_expected_rewards_equal_the_acceptance_table(p, q):
    """The exact expectation: the table's last digit differs by at most 1, as a simulated one may."""
    blend, *others = (benchmark.total(name) for name in ("spade_blend", "azr", "rzero", "spice"))
    found = exact(p, q, blend, Learnability(within_seed=False).value, *others)
    assert found == pytest.approx(TABLE[p, q], abs=0.0015)


@pytest.mark.parametrize(("p", "q"), TABLE)
def test_scripted_agents_earn_the_acceptance_table(p, q):
    kind, blend, rzero = Archetype("", (p,), (q,)), [], []
    found = list(estimates(kind, 16, 1, 300))
    blend = [total("spade_blend", evidence(each)) for each in found]
    rzero = [total("rzero", evidence(each)) for each in found]
    regrets = [each.regret.value for each in found]
    for values, true in ((blend, TABLE[p, q][0]), (rzero, TABLE[p, q][3]), (regrets, q - p)):
        assert abs(statistics.fmean(values) - true) <= 4 * statistics.pstdev(values) / math.sqrt(300) + 0.001


def test_floored_regret_pays_for_noise_and_its_correction_does_not():
    # Known: at p = q = 0.5 the floored mean is 0.070, and 0.335 after / 0.15 and the cut.
    assert exact(0.5, 0.5, Regret(scale=1.0).value, Regret().value) == pytest.approx([0.070, 0.335], abs=0.002)
    found = list(estimates(Archetype("", (0.5,), (0.5,)), 16, 1, 1_000))
    values = [Regret(correction="bias").value(evidence(each)) for each in found]
    assert abs(statistics.fmean(values)) < 0.03
    lower = [Regret(correction="lower_bound").value(evidence(each)) for each in found]
    assert statistics.fmean(lower) < 0.02


# --- our own preset

NOTHING = [kind for kind in ARCHETYPES if kind.fixed]
"""Trivial, impossible, solvable only with the hint, half and half: every play ends the same way."""


@pytest.mark.parametrize("kind", NOTHING, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("seeds", "repeats"), [(4, 2), (16, 2), (16, 4), (200, 3)])
def test_metagym_pays_exactly_nothing_where_plays_of_a_seed_never_differ(kind, seeds, repeats):
    assert average(kind, "metagym", seeds, repeats, 1) == 0


def test_spade_blend_pays_what_metagym_does_not():
    by_name = {kind.name: average(kind, "spade_blend", 16, 1, 1) for kind in NOTHING}
    assert by_name["solvable only with hint (0, 1)"] == pytest.approx(0.4)
    assert by_name["half trivial, half impossible"] == pytest.approx(0.6)
    assert by_name["half trivial, half only with hint"] == pytest.approx(1.0)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.8, 0.8), (0.2, 0.2), (0.5, 0.3)])
def test_metagym_pays_nothing_for_a_hint_that_does_not_help(p, q):
    """On average at most one percent, for noise; SPADE's blend pays 0.66 at (0.5, 0.5)."""
    kind = Archetype("", (p,), (q,))
    assert average(kind, "metagym", 16, 2, 150) <= 0.01
    if (p, q) == (0.5, 0.5):
        assert exact(p, q, benchmark.total("spade_blend"))[0] > 0.65


def test_metagym_pays_nothing_for_regret_of_one_seed_and_chance_of_another():
    kind = Archetype("", (0.0, 0.5), (1.0, 0.5))
    assert average(kind, "metagym", 16, 2, 150) <= 0.03 < 0.6 < average(kind, "spade_blend", 16, 2, 150)


def test_metagym_pays_frontier_programs_more_than_easy_or_hard_ones():
    frontier, hard, easy, weak = (
        average(Archetype("", (p,), (q,)), "metagym", 16, 2, 80)
        for p, q in ((0.5, 0.95), (0.15, 0.6), (0.9, 1.0), (0.5, 0.7))
    )
    assert frontier > 3 * max(hard, easy) and frontier > 3 * weak > 0 < min(hard, easy)


def test_metagym_is_monotone_as_documented():
    """With plays enough to know p and q: more for a better hint, most at p = q / 2."""

    def limit(p, q, plays_=40):
        arms = [
            [Outcome(s, r, arm, success=r < chance * plays_) for s in range(20) for r in range(plays_)]
            for arm, chance in ((0, p), (1, q))
        ]
        return preset("metagym", lower_bound=False)(evidence(estimate(*arms, binary=True, resamples=100))).total

    by_hint = [limit(0.5, q) for q in (0.5, 0.6, 0.8, 1.0)]
    assert by_hint == sorted(by_hint) and by_hint[-1] == pytest.approx(1.0, abs=0.03)
    by_difficulty = {p: limit(p, 1.0) for p in (0.05, 0.25, 0.5, 0.75, 0.95)}
    assert max(by_difficulty, key=by_difficulty.get) == 0.5
    assert limit(0.3, 0.6) > max(limit(0.1, 0.6), limit(0.5, 0.6))


def test_metagym_needs_two_plays_per_seed_a_hint_and_known_success():
    one = preset("metagym")(known(0.5, 1.0))
    assert (one.total, one.masked, one.reason) == (None, True, "no evidence for teachable_regret")
    unhinted = estimate(*plays(rng(0), [0.5] * 8, [], 2), binary=True)
    unknown = estimate(*[[Outcome(s, r, a, ret=1.0) for s in range(4) for r in range(2)] for a in (0, 1)], binary=False)
    for found in (unhinted, unknown):
        assert preset("metagym")(evidence(found)).total is None


def test_a_factor_scales_and_a_copy_earns_nothing():
    found = next(estimates(Archetype("", (0.5,), (1.0,)), 16, 4, 1))
    plain = preset("metagym")(Evidence(valid=True, regret=found)).total
    assert plain > 0
    for novelty in (0.0, 0.5, 1.0):
        given_ = Evidence(valid=True, regret=found, novelty=novelty)
        assert total("metagym", given_, novelty=True) == pytest.approx(plain * novelty)
    assert total("metagym", Evidence(valid=True, regret=found), novelty=True) is None


# --- boundary cases: p = 0, p = 1, invalid


@pytest.mark.parametrize(
    ("name", "options", "never", "always", "invalid"),
    [
        ("spade_blend", {}, 0.0, 0.0, 0.0),
        ("spade_regret", {}, 0.0, 0.0, 0.0),
        ("learning_potential", {}, 0.5, 0.5, 0.0),
        ("solve_rate", {}, 0.0, 0.0, 0.0),
        ("azr", {}, 0.0, 0.0, -1.0),
        ("azr", {"as_code": True}, -0.5, -0.5, -1.0),
        ("rzero", {}, 0.0, 0.0, -1.0),
        ("spice", {}, math.exp(-3.125), math.exp(-3.125), -0.1),
        ("metagym", {}, 0.0, 0.0, -0.1),
    ],
)
def test_boundary_cases(name, options, never, always, invalid):
    reward = preset(name, **options)
    assert reward(known(0, 0, repeats=2)).total == pytest.approx(never)
    assert reward(known(1, 1, repeats=2)).total == pytest.approx(always)
    refused = reward(Evidence(valid=False))
    assert (refused.total, refused.masked, refused.reason) == (invalid, False, "settled by validity")
    low, high = reward.bounds
    assert low <= min(never, always, invalid) and max(never, always) <= high


def test_azr_as_its_code_differs_from_its_paper_at_zero_only():
    for wins_ in range(17):
        paper, code = (OneMinusP(zero).value(known(wins_ / 16, 1)) for zero in (0.0, -0.5))
        assert (paper, code) == ((0.0, -0.5) if wins_ in (0, 16) else (1 - wins_ / 16,) * 2)


def test_a_program_that_fails_while_played_counts_as_invalid():
    found = estimate([Outcome(0, success=True), Outcome(1, failure="env_error")], [], binary=True)
    assert total("azr", Evidence(valid=True, regret=found)) == -1.0


@pytest.mark.parametrize("name", PRESETS)
def test_a_program_that_hung_costs_half_a_point_or_what_an_invalid_one_does(name):
    for hung in (
        Evidence(valid=True, hung=True),
        Evidence(valid=False, hung=True),
        Evidence(valid=True, regret=estimate([], [Outcome(0, arm=1, failure="timeout")], binary=True)),
    ):
        found, cost = preset(name)(hung), {"azr": -1.0, "rzero": -1.0, "spice": -0.1}.get(name, -0.5)
        assert (found.total, found.terms, found.masked) == (cost, {"timeout": cost}, False)


def test_spade_blend_below_zero_is_masked_and_still_told():
    found = preset("spade_blend", frontier=1.0)(known(0, 0))
    assert found.total == pytest.approx(-3.125) and found.masked and found.trained is None
    assert found.reason == "spade_blend is below 0"
    kept = preset("spade_blend", frontier=1.0)(known(0.5, 1))
    assert kept.total == kept.trained == pytest.approx(1.0) and not kept.masked
    assert not preset("spade_blend")(known(0, 0)).masked  # 0 is not below 0


def test_later_phase_of_spade_wants_harder_programs():
    harder = {"lo": 0.2, "hi": 0.4, "ramp": 0.2}
    assert total("solve_rate", known(0.25, 1), **harder) == 1.0
    assert total("solve_rate", known(0.5, 1), **harder) == pytest.approx(0.5)
    assert total("solve_rate", known(0.625, 1), **harder) == 0.0


# --- missing evidence


@pytest.mark.parametrize("term", [term for term in TERMS if term.name not in ("validity", "timeout")], ids=repr)
def test_unmeasured_evidence_is_none_and_leaves_the_reward_unscored(term):
    for nothing in (
        Evidence(valid=True),
        Evidence(valid=True, regret=estimate([Outcome(0, failure="agent_error")], [], binary=True)),
    ):
        assert term.value(nothing) is None
        found = DesignerReward("one", ((1.0, MinP() if term.name == "novelty" else Novelty()), (2.0, term)))(nothing)
        charged = DesignerReward("charged", ((1.0, Validity()), (-2.0, term)))(nothing)
        assert charged.total is None and term.name in charged.reason
        assert found.total is None and found.masked and term.name in found.reason and found.terms[term.name] is None
        assert DesignerReward("off", ((1.0, Validity()), (0.0, term)))(nothing).total == 0.0


@pytest.mark.parametrize(
    "term", [OneMinusP(), MinP(), Plateau(), SolverVariance(), Learnability(within_seed=False)], ids=repr
)
def test_a_rate_of_one_play_is_no_rate(term):
    """With a single sample 1 - p is always 0 or unpaid, and p(1 - p) always 0."""
    assert term.value(known(1, 1, n=1)) is None and term.value(known(1, 1, n=2)) is not None


def test_r_zero_asks_for_repetition():
    given_ = Evidence(valid=True, regret=known(0.5, 1).regret)
    assert preset("rzero")(given_).reason == "no evidence for repetition"
    assert total("rzero", Evidence(valid=True, regret=given_.regret, repetition=0.75)) == pytest.approx(-0.25)


# --- single terms


def test_plateau_by_hand():
    values = [Plateau().value(known(w, 1)) for w in (2 / 16, 4 / 16, 5 / 16, 7 / 16, 9 / 16, 12 / 16)]
    assert values == pytest.approx([0, 0.4, 0.65, 1, 1, 0.4])


def test_micro_lp_is_the_weighted_slope():
    def value(*history):
        return MicroLP().value(Evidence(valid=True, history=history))

    assert value((0.2, 8), (0.25, 8), (0.3, 8)) == pytest.approx(0.5)
    assert value((0.9, 8), (0.1, 8)) == -1.0 and value((0.1, 8), (0.9, 8)) == 1.0
    assert value((0.5, 4), (0.0, 0), (0.52, 4)) == pytest.approx(0.1)  # a round without plays weighs nothing
    assert value((0.5, 4)) is None and value((0.5, 4), (0.5, 0)) is None


def test_shares_by_hand():
    given_ = Evidence(valid=True, novelty=0.3, repetition=0.25, leak=0.5, skill_share=0.2)
    values = [term.value(given_) for term in (Novelty(), Repetition(), LeakPenalty(), SkillCoverage())]
    assert values == pytest.approx([0.3, -0.25, -0.5, 0.8])


outcomes_ = st.builds(
    lambda seed, success, failure, ret: (seed, failure, None if failure else success, None if failure else ret),
    st.integers(0, 3),
    st.none() | st.booleans(),
    st.sampled_from([None, None, None, "agent_error"]),
    st.none() | st.floats(-1, 1),
)
share = st.none() | st.floats(0, 1)


@st.composite
def any_evidence(draw):
    arms = []
    for arm in (0, 1):
        drawn = draw(st.lists(outcomes_, max_size=8))
        arms.append([Outcome(s, r, arm, ret=ret, success=w, failure=f) for r, (s, f, w, ret) in enumerate(drawn)])
    way, binary = draw(st.sampled_from(["paired", "unpaired"])), draw(st.booleans())
    found = estimate(*arms, binary=binary, estimator=way, resamples=100)
    history = draw(st.none() | st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20)), max_size=5).map(tuple))
    return Evidence(
        draw(st.booleans()),
        found,
        draw(st.booleans()),
        draw(share),
        history,
        draw(share),
        draw(share),
        draw(share),
        draw(share),
    )


@given(any_evidence())
@settings(max_examples=80, deadline=None)
def test_every_term_and_preset_keeps_its_bounds(given_):
    for term in TERMS:
        value = term.value(given_)
        assert value is None or term.bounds[0] - 1e-12 <= value <= term.bounds[1] + 1e-12, term
    for make in PRESETS.values():
        reward = make()
        found = reward(given_)
        if found.total is None:
            assert found.masked and found.reason
        else:
            assert reward.bounds[0] - 1e-12 <= found.total <= reward.bounds[1] + 1e-12
        assert RewardBreakdown.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False))) == found


# --- settings


def test_total_is_the_weighted_sum_of_the_logged_terms():
    found = preset("spade_blend")(known(0.5, 0.5625))
    assert found.terms == pytest.approx({"validity": 0, "timeout": 0, "regret": 0.0625 / 0.15, "plateau": 1})
    assert found.total == pytest.approx(0.4 * found.terms["regret"] + 0.6 * found.terms["plateau"])


@pytest.mark.parametrize("name", PRESETS)
def test_presets_describe_themselves_for_the_record(name):
    told = json.loads(json.dumps(preset(name).to_json(), allow_nan=False))
    assert told["name"] == name and all({"name", "weight"} <= set(term) for term in told["terms"])


def test_every_term_is_public():
    assert {type(term).__name__ for term in TERMS} <= set(rewards.__all__)
    assert len({term.name for term in TERMS}) == len({type(term) for term in TERMS})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Validity(0.5),
        lambda: Regret(scale=0),
        lambda: Regret(correction="both"),
        lambda: Plateau(0.6, 0.4),
        lambda: SolverVariance(width=0),
        lambda: OneMinusP(1),
        lambda: Evidence(valid=1),
        lambda: Evidence(valid=True, novelty=1.5),
        lambda: Evidence(valid=True, history=((2.0, 1),)),
        lambda: Evidence(valid=True, history=(0.5, 1)),
        lambda: Evidence(valid=True, history=3),
        lambda: DesignerReward("none", ()),
        lambda: DesignerReward("twice", ((1.0, MinP()), (1.0, MinP()))),
        lambda: DesignerReward("weight", ((math.nan, MinP()),)),
        lambda: DesignerReward("factor", ((1.0, MinP()),), (LeakPenalty(),)),
        lambda: preset("azr", as_cod=True),
        lambda: RewardBreakdown.from_json({"sum": 1}),
    ],
)
def test_unusable_settings_are_refused(make):
    with pytest.raises(BadInput):
        make()


@pytest.mark.parametrize("name", ["absolute", None, ["metagym"]])
def test_an_unknown_preset_lists_the_known_ones(name):
    with pytest.raises(UnknownName, match="spade_blend.*metagym"):
        preset(name)


def test_a_term_that_is_no_number_is_named():
    class Broken:
        name, bounds = "broken", (0.0, 1.0)

        def value(self, evidence):
            return math.nan

    with pytest.raises(BadInput, match="broken"):
        DesignerReward("x", ((1.0, Broken()),))(Evidence(valid=True))
