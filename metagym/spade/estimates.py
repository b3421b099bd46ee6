"""Regret of an agent on a program: what the privileged hint is worth to it, measured on paired seeds.

The point estimates are unbiased: no floor, no clip, no failed play counted as lost. Floors and scales belong to the
reward (`metagym.spade.rewards`).

Sources: regret against a stronger antagonist, Dennis et al. (2020), arXiv 2012.02096; the hinted twin as antagonist,
SPADE, arXiv 2608.19197; intervals, `metagym.stats`, Zou & Donner (2008), *Stat. Med.* 27, 1693-1702, and Hesterberg
(2015), *Am. Stat.* 69, 371-386, section 5 (expanded bootstrap intervals for small samples).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from statistics import NormalDist
from typing import Any, Literal

from metagym import stats
from metagym.errors import BadInput
from metagym.spade.outcomes import FAILURES, HINTED, PLAIN, Outcome
from metagym.stats import CONFIDENCE, RESAMPLES, Estimate

Estimator = Literal["paired", "unpaired"]
ESTIMATORS: tuple[Estimator, ...] = ("paired", "unpaired")


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of the comparison.

    Attributes:
        plays: Plays that were made.
        scored: Plays that could be measured.
        failures: Failed plays by kind, each kind present; what is neither scored nor failed had no result to tell.
        mean: Mean score over the seeds that the estimate stands on.
        win_rate: Share of won plays among the same plays; None where one of them cannot tell.
        variance: Variance of the scores of the same plays (divided by their number); None without plays.
        counted: How many these plays are.
        steps: Mean turns of the scored plays; None without any.
        invalid_rate: Share of their turns without a valid action; None without any turn.
    """

    plays: int
    scored: int
    failures: dict[str, int]
    mean: Estimate
    win_rate: float | None
    variance: float | None
    counted: int
    steps: float | None
    invalid_rate: float | None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Arm:
        """The inverse of `dataclasses.asdict`."""
        return cls(**{**data, "mean": Estimate.from_json(data["mean"])})


@dataclass(frozen=True, slots=True)
class RegretEstimate:
    """What the plays of both arms say about a program.

    Attributes:
        estimator: ``"paired"`` or ``"unpaired"``.
        binary: Whether scores are successes (0 or 1); otherwise they are returns.
        regret: Mean over seeds of (score with hint - score without). `n` counts seeds (unpaired: of the smaller arm),
            `unscored` the seeds that were left out because a play of theirs failed or could not be measured.
        se: Standard error of `regret`; None for fewer than two seeds.
        n_eff: How many plays per arm on unrelated seeds would give the same standard error; None where it is 0 or
            unknown.
        plain: The arm without the hint.
        hinted: The arm with the hint.
        learnability: Mean over seeds of p(1 - p), p the chance to win the seed without the hint, in [0, 0.25];
            unbiased, from k wins in m plays as k(m - k) / (m(m - 1)). None unless success is measured and
            each seed was played twice.
        teachable: Mean over seeds of p(q - p), q the chance to win the seed with the hint, in [-1, 0.25]; unbiased. It
            is learnability times the share of the failures that the hint repairs. None as for `learnability`, and
            for unpaired arms.
        unequal_failures: The arms failed in different shares or ways: what was left out may not be alike.
        invalidated: The program itself failed (``env_error``): its score means nothing.
        looks: How often the data were looked at before the plays ended (1 without sequential stopping).
        stopped_early: A look ended the plays before the budget did; `regret` then tends to be too far from 0.
    """

    estimator: Estimator
    binary: bool
    regret: Estimate
    se: float | None
    n_eff: float | None
    plain: Arm
    hinted: Arm
    learnability: Estimate | None
    teachable: Estimate | None
    unequal_failures: bool
    invalidated: bool
    looks: int = 1
    stopped_early: bool = False

    @property
    def p0(self) -> Estimate:
        """Mean score without the hint."""
        return self.plain.mean

    @property
    def p1(self) -> Estimate:
        """Mean score with the hint."""
        return self.hinted.mean

    def to_json(self) -> dict[str, Any]:
        """The estimate as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RegretEstimate:
        """The inverse of `to_json`.

        Raises:
            BadInput: The object is no estimate.
        """
        try:
            given = dict(data)
            for name in ("plain", "hinted"):
                given[name] = Arm.from_json(given[name])
            for name in ("regret", "learnability", "teachable"):
                given[name] = None if given[name] is None else Estimate.from_json(given[name])
            return cls(**given)
        except (KeyError, TypeError, ValueError) as error:
            names = ", ".join(field.name for field in fields(cls))
            raise BadInput(f"not an estimate of regret, which has {names}: {error!r}") from error


def estimate(
    outcomes0: Iterable[Outcome],
    outcomes1: Iterable[Outcome],
    *,
    binary: bool,
    estimator: Estimator = "paired",
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> RegretEstimate:
    """Estimates regret from plays.

    A seed of which a play failed or has no score leaves the estimate (paired: in both arms, whichever arm it was in),
    and is counted. Intervals:

    * paired, one binary play per seed and arm: Newcombe's score interval on the discordant pairs;
    * otherwise paired: BCa bootstrap of the per-seed differences, so that plays of one seed count as one cluster, at
      the level that gives it the width of a t interval (a bootstrap of few seeds is too narrow);
    * unpaired: the intervals of both means (Wilson's for single binary plays, else bootstrap) joined by Zou & Donner;
    * binary scores without spread between seeds: with n seeds alike, the share of other seeds is at most
      1 - (alpha/2)^(1/n) (exact), and these could score anything in range.

    Args:
        outcomes0: Plays without the hint, in any order.
        outcomes1: Plays with the hint; empty where there is no hint (regret is then unmeasured).
        binary: Score successes; otherwise returns.
        estimator: ``"paired"`` compares the arms seed by seed; ``"unpaired"`` takes each arm's seeds as its own.
        confidence: Of all intervals, in (0, 1).
        resamples: Bootstrap samples, >= 100.
        seed: Decides the resampling.

    Raises:
        BadInput: An outcome stands in the wrong arm or twice, or a setting is out of range.
    """
    if estimator not in ESTIMATORS:
        raise BadInput(f"estimator is one of {', '.join(ESTIMATORS)}, got {estimator!r}")
    arms = _by_seed(outcomes0, PLAIN), _by_seed(outcomes1, HINTED)
    measured = [{key: scores for key, plays in arm.items() if (scores := _scores(plays, binary))} for arm in arms]
    if estimator == "paired" and arms[HINTED]:
        common = measured[PLAIN].keys() & measured[HINTED].keys()
        left_out = len(arms[PLAIN].keys() | arms[HINTED].keys()) - len(common)
        measured = [{key: scores for key, scores in side.items() if key in common} for side in measured]
    else:
        left_out = sum(len(arm) - len(side) for arm, side in zip(arms, measured, strict=True))

    def averaged(values: Sequence[float], unscored: int, low: float, high: float) -> Estimate:
        found = stats.mean(values, seed, _expanded(confidence, len(values)), resamples)
        if found.low is None and found.value is not None and binary:
            found = _without_spread(found.value, found.n, low, high, confidence)
        else:
            found = replace(found, method=f"expanded bootstrap BCa {confidence * 100:g}%")
        return replace(found, unscored=unscored, method=f"{found.method} over seeds")

    def arm_of(side: int) -> Arm:
        scores, unscored = measured[side], len(arms[side]) - len(measured[side])
        if binary and all(len(each) == 1 for each in scores.values()):
            found = stats.wilson(round(sum(each[0] for each in scores.values())), len(scores), unscored, confidence)
        else:
            found = averaged([_mean(each) for each in scores.values()], unscored, 0, 1)
        return _arm(arms[side], scores.keys(), found, binary)

    plain, hinted = arm_of(PLAIN), arm_of(HINTED)
    variances: list[float] = []  # of one play, by arm
    for side in measured:
        flat = [score for scores in side.values() for score in scores]
        variances.append(_variance(flat) * len(flat) / (len(flat) - 1) if len(flat) > 1 else math.nan)
    learnability = teachable = None
    if binary and measured[PLAIN] and all(len(scores) > 1 for scores in measured[PLAIN].values()):
        values = [_learnability(scores) for scores in measured[PLAIN].values()]
        learnability = averaged(values, plain.mean.unscored, 0, 0.5)
    if estimator == "paired":
        pairs = [(measured[PLAIN][key], measured[HINTED][key]) for key in measured[PLAIN] if key in measured[HINTED]]
        differences = [_mean(with_hint) - _mean(without) for without, with_hint in pairs]
        if binary and all(len(without) == len(with_hint) == 1 for without, with_hint in pairs):
            won = [(without[0] == 1, with_hint[0] == 1) for without, with_hint in pairs]
            both, neither = won.count((True, True)), won.count((False, False))
            lost, gained = won.count((True, False)), won.count((False, True))
            regret = stats.paired_rates(both, lost, gained, neither, left_out, confidence)
        else:
            regret = averaged(differences, left_out, -1, 1)
        squared = _variance(differences) / (len(pairs) - 1) if len(pairs) > 1 else None
        if learnability is not None and pairs:
            values = [_teachable(without, with_hint) for without, with_hint in pairs]
            teachable = averaged(values, left_out, -1, 0.5)
    else:
        regret = _joined(plain.mean, hinted.mean, left_out)
        means = [[_mean(scores) for scores in side.values()] for side in measured]
        sizes = [len(values) for values in means]
        squared = sum(_variance(each) / (len(each) - 1) for each in means) if min(sizes) > 1 else None
    se = None if squared is None else math.sqrt(squared)
    n_eff = sum(variances) / squared if squared else math.nan
    return RegretEstimate(
        estimator=estimator,
        binary=binary,
        regret=regret,
        se=se,
        n_eff=n_eff if math.isfinite(n_eff) else None,
        plain=plain,
        hinted=hinted,
        learnability=learnability,
        teachable=teachable,
        unequal_failures=hinted.plays > 0 and _failed_unequally(plain, hinted),
        invalidated=plain.failures["env_error"] + hinted.failures["env_error"] > 0,
    )


def _by_seed(outcomes: Iterable[Outcome], arm: int) -> dict[int, list[Outcome]]:
    """The plays of each seed, seeds and repeats in order: no figure depends on the order in which plays ended."""
    found: dict[tuple[int, int], Outcome] = {}
    for outcome in outcomes:
        if outcome.arm != arm:
            raise BadInput(f"the play of seed {outcome.seed} is of arm {outcome.arm} and stands among arm {arm}'s")
        if (outcome.seed, outcome.repeat) in found:
            raise BadInput(f"seed {outcome.seed}, repeat {outcome.repeat} stands twice in arm {arm}")
        found[outcome.seed, outcome.repeat] = outcome
    groups: dict[int, list[Outcome]] = {}
    for (seed, _), outcome in sorted(found.items()):
        groups.setdefault(seed, []).append(outcome)
    return groups


def _scores(plays: Sequence[Outcome], binary: bool) -> list[float]:
    """The scores of a seed's plays; empty where one of them has none."""
    scores = [score for play in plays if (score := play.score(binary)) is not None]
    return scores if len(scores) == len(plays) else []


def _arm(plays_of: Mapping[int, Sequence[Outcome]], kept: Iterable[int], mean: Estimate, binary: bool) -> Arm:
    plays = [play for group in plays_of.values() for play in group]
    scored = [play for play in plays if play.score(binary) is not None]
    counted = [play for seed in kept for play in plays_of[seed]]
    wins = [play.success for play in counted]
    turns = sum(play.steps for play in scored)
    scores = [score for play in counted if (score := play.score(binary)) is not None]
    return Arm(
        plays=len(plays),
        scored=len(scored),
        failures={kind: sum(play.failure == kind for play in plays) for kind in FAILURES},
        mean=mean,
        win_rate=wins.count(True) / len(wins) if wins and None not in wins else None,
        variance=_variance(scores) if scores else None,
        counted=len(counted),
        steps=turns / len(scored) if scored else None,
        invalid_rate=sum(play.invalid for play in scored) / turns if turns else None,
    )


def _failed_unequally(a: Arm, b: Arm) -> bool:
    return any(a.failures[kind] * b.plays != b.failures[kind] * a.plays for kind in FAILURES)


def _learnability(scores: Sequence[float]) -> float:
    won, plays = sum(scores), len(scores)
    return won * (plays - won) / (plays * (plays - 1))


def _teachable(without: Sequence[float], with_hint: Sequence[float]) -> float:
    """Unbiased for p(q - p): p^2 is estimated by the share of pairs of plays that were both won."""
    won, plays = sum(without), len(without)
    return _mean(with_hint) * won / plays - won * (won - 1) / (plays * (plays - 1))


def _without_spread(value: float, n: int, low: float, high: float, confidence: float) -> Estimate:
    share = 1 - ((1 - confidence) / 2) ** (1 / n)
    ends = value - share * (value - low), value + share * (high - value)
    return Estimate(value, *ends, n, method=f"exact bound without spread {confidence * 100:g}%")


def _expanded(confidence: float, n: int) -> float:
    """The level at which a bootstrap interval of n values is as wide as the t interval at `confidence`.

    Hesterberg (2015): the tail is Phi(-sqrt(n / (n - 1)) t); t by Abramowitz & Stegun (1964), 26.7.5.
    """
    normal = NormalDist()
    if n < 2 or not 0 < confidence < 1:
        return confidence  # nothing to resample, or refused there
    z, free = normal.inv_cdf((1 + confidence) / 2), n - 1
    t = z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
    t += (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * free**3)
    t += (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * free**4)
    return 1 - 2 * max(normal.cdf(-math.sqrt(n / free) * t), 1e-9)  # below 1, as a confidence must be


def _joined(a: Estimate, b: Estimate, unscored: int) -> Estimate:
    """The difference b - a of two independent means from their own intervals (Zou & Donner 2008)."""
    method = f"joined {a.method}"
    if a.value is None or b.value is None:
        return Estimate(None, None, None, 0, unscored, method)
    value, n = b.value - a.value, min(a.n, b.n)
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Estimate(value, None, None, n, unscored, method)
    low = value - math.hypot(b.value - b.low, a.high - a.value)
    high = value + math.hypot(a.value - a.low, b.high - b.value)
    return Estimate(value, low, high, n, unscored, method)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    centre = _mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / len(values)
