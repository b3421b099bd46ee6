"""The terms that a designer's reward is made of: each named, bounded, and None where its evidence was not measured.

Sources, by the name of the system: SPADE, arXiv 2608.19197 and its public code; Absolute Zero (AZR), arXiv 2505.03335;
R-Zero, arXiv 2508.05004; SPICE, arXiv 2510.24684, in the form of SPADE's code; 4p(1-p) as learnability: prime-rl's
proposer/solver environment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, Literal

from metagym.checks import flag, number, settle, shown
from metagym.errors import BadInput
from metagym.spade.evidence import MIN_PLAYS, Evidence


@dataclass(frozen=True, slots=True)
class Regret:
    """Regret over a fixed scale, cut at 1.

    Attributes:
        floor: Smallest value, in [-1, 0]; SPADE: 0. A floor pays for noise: with 16 unpaired plays per arm at win rate
            0.5, a regret of 0 has the floored mean 0.070, which over the scale 0.15 and cut at 1 becomes 0.335.
        scale: Regret that is paid 1, > 0; SPADE: 0.15. Fixed, never a batch's own spread, which blows up in small ones.
        correction: ``"none"``; ``"bias"``: minus the value that normal noise of the measured standard error earns at a
            true regret of 0 (so that it earns 0 on average there); ``"lower_bound"``: the lower end of the interval
            instead of the point estimate.
    """

    floor: float = 0.0
    scale: float = 0.15
    correction: Literal["none", "bias", "lower_bound"] = "none"
    name: ClassVar[str] = "regret"

    def __post_init__(self) -> None:
        """Checks the fields; raises `BadInput`."""
        settle(self, "floor", number, -1.0, 0.0)
        settle(self, "scale", number, 0.0, above=True)
        if self.correction not in ("none", "bias", "lower_bound"):
            raise BadInput(f"correction is none, bias or lower_bound, got {shown(self.correction)}")

    @property
    def bounds(self) -> tuple[float, float]:
        """From the floor to 1; the correction takes at most 1/2 off."""
        return (self.floor - 0.5 if self.correction == "bias" else self.floor, 1.0)

    def value(self, evidence: Evidence) -> float | None:
        """The cut regret, corrected."""
        found = evidence.regret
        if found is None:
            return None
        measured = found.regret.low if self.correction == "lower_bound" else found.regret.value
        if measured is None or (self.correction == "bias" and found.se is None):
            return None
        earned = _cut(measured / self.scale, self.floor, 1.0)
        if self.correction == "bias" and found.se:
            # E[cut(Z, floor, 1)] for normal Z around 0: what is above the floor less what is above 1.
            noise = found.se / self.scale
            return earned - (self.floor + _excess(self.floor, noise) - _excess(1.0, noise))
        return earned


@dataclass(frozen=True, slots=True)
class TeachableRegret:
    """Regret that the agent can learn from: mean over seeds of p(q - p), over a fixed scale, cut to [0, 1]. Ours.

    With p and q the chances to win a seed without and with the hint, p(q - p) = p(1 - p) * (q - p)/(1 - p): how much
    the agent's own plays of the seed differ (without which no policy gradient flows), times the share of its failures
    that the hint repairs. It is 0 where the seed is never won unaided, always won, or the hint is useless, *per seed*:
    mixing seeds cannot buy it. For a given p it grows with q; for a given q it peaks at p = q / 2.

    Attributes:
        scale: What is paid 1, > 0; 1/4 is the largest true value (p = 1/2, q = 1), which makes it 4p(1 - p) under a
            perfect hint.
        lower_bound: Take the lower end of the interval, so that noise is not paid; and that of plain regret where it is
            lower. (Where a hint hurts on no seed, p(q - p) <= q - p: who cannot show regret cannot show this either.)
    """

    scale: float = 0.25
    lower_bound: bool = True
    name: ClassVar[str] = "teachable_regret"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        """Checks the fields; raises `BadInput`."""
        settle(self, "scale", number, 0.0, above=True)
        settle(self, "lower_bound", flag)

    def value(self, evidence: Evidence) -> float | None:
        """The cut value; None without two plays per seed, a hint, paired arms and known success."""
        found = evidence.regret
        if found is None or found.teachable is None:
            return None
        if not self.lower_bound:
            measured = found.teachable.value
        elif found.teachable.low is None or found.regret.low is None:
            return None
        else:
            measured = min(found.teachable.low, found.regret.low)
        return None if measured is None else _cut(measured / self.scale, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Plateau:
    """1 for win rates in [lo, hi], falling to 0 over `ramp` on both sides (SPADE: 0.4, 0.6, 0.25; later 0.2, 0.4, 0.2).

    It sees the mean alone: half the seeds trivial and half impossible earn 1.

    Attributes:
        lo: In [0, 1].
        hi: In [lo, 1].
        ramp: > 0.
    """

    lo: float = 0.4
    hi: float = 0.6
    ramp: float = 0.25
    name: ClassVar[str] = "plateau"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        """Checks the fields; raises `BadInput`."""
        settle(self, "lo", number, 0.0, 1.0)
        settle(self, "hi", number, self.lo, 1.0)
        settle(self, "ramp", number, 0.0, above=True)

    def value(self, evidence: Evidence) -> float | None:
        """By the distance of the win rate to the band."""
        outside = _of_rate(evidence, lambda p: max(self.lo - p, p - self.hi, 0.0))
        return None if outside is None else max(0.0, 1 - outside / self.ramp)


@dataclass(frozen=True, slots=True)
class Learnability:
    """4p(1 - p), cut to [0, 1].

    Attributes:
        within_seed: The unbiased mean over seeds (needs two plays of each), which half-trivial-half-impossible programs
            cannot earn; otherwise of the overall win rate.
    """

    within_seed: bool = True
    name: ClassVar[str] = "learnability"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        """Checks the switch; raises `BadInput`."""
        settle(self, "within_seed", flag)

    def value(self, evidence: Evidence) -> float | None:
        """By the plain arm."""
        if not self.within_seed:
            return _of_rate(evidence, lambda p: 4 * p * (1 - p))
        found = None if evidence.regret is None else evidence.regret.learnability
        return None if found is None or found.value is None else _cut(4 * found.value, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class SolverVariance:
    """exp(-(V - target)^2 / (2 width)), V the variance of the plain arm's scores (SPICE: 0.25 and 0.01).

    Attributes:
        target: V that is paid 1; 0.25 is the largest variance of a success.
        width: Square of the bell's width, > 0.
    """

    target: float = 0.25
    width: float = 0.01
    name: ClassVar[str] = "solver_variance"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        """Checks the fields; raises `BadInput`."""
        settle(self, "target", number, 0.0)
        settle(self, "width", number, 0.0, above=True)

    def value(self, evidence: Evidence) -> float | None:
        """By the plain arm; it is not 0 where V is (exp(-3.125) = 0.044 with SPICE's numbers)."""
        arm = None if evidence.regret is None else evidence.regret.plain
        if arm is None or arm.variance is None or arm.counted < MIN_PLAYS:
            return None
        return math.exp(-((arm.variance - self.target) ** 2) / (2 * self.width))


@dataclass(frozen=True, slots=True)
class OneMinusP:
    """1 - p where p > 0, else 0 (AZR's paper); so 0 at p = 0 and at p = 1.

    Attributes:
        zero: What a value of 0 becomes, in [-1, 0]. AZR's code turns it into -0.5 at both ends, unlike the paper.
    """

    zero: float = 0.0
    name: ClassVar[str] = "one_minus_p"

    def __post_init__(self) -> None:
        """Checks the field; raises `BadInput`."""
        settle(self, "zero", number, -1.0, 0.0)

    @property
    def bounds(self) -> tuple[float, float]:
        """From `zero` to 1."""
        return (self.zero, 1.0)

    def value(self, evidence: Evidence) -> float | None:
        """By the plain arm."""
        return _of_rate(evidence, lambda p: 1 - p if 0 < p < 1 else self.zero)


@dataclass(frozen=True, slots=True)
class MinP:
    """min(p, 1 - p) (R-Zero); 0 at both ends."""

    name: ClassVar[str] = "min_p"
    bounds: ClassVar[tuple[float, float]] = (0.0, 0.5)

    def value(self, evidence: Evidence) -> float | None:
        """By the plain arm."""
        return _of_rate(evidence, lambda p: min(p, 1 - p))


@dataclass(frozen=True, slots=True)
class WinShift:
    """How far the win rate is from its slow average (SPADE's learning potential)."""

    name: ClassVar[str] = "win_shift"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def value(self, evidence: Evidence) -> float | None:
        """The absolute difference."""
        base = evidence.win_baseline
        return None if base is None else _of_rate(evidence, lambda p: abs(p - base), 1)


@dataclass(frozen=True, slots=True)
class MicroLP:
    """How fast the agent gets better at this program: slope of the win rate per round over a scale, cut to [-1, 1].

    The slope is that of the least-squares line, weighted by plays. SPADE divides a weighted slope by 0.10; that its
    weights are the plays is our reading.

    Attributes:
        scale: Slope that is paid 1, > 0.
    """

    scale: float = 0.10
    name: ClassVar[str] = "micro_lp"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        """Checks the field; raises `BadInput`."""
        settle(self, "scale", number, 0.0, above=True)

    def value(self, evidence: Evidence) -> float | None:
        """None before two rounds with plays."""
        points = [(t, w, n) for t, (w, n) in enumerate(evidence.history or ()) if n]
        if len(points) < 2:
            return None
        plays = sum(n for _, _, n in points)
        centre = sum(n * t for t, _, n in points) / plays
        spread = sum(n * (t - centre) ** 2 for t, _, n in points)
        slope = sum(n * (t - centre) * w for t, w, n in points) / spread
        return _cut(slope / self.scale, -1.0, 1.0)


@dataclass(frozen=True, slots=True)
class FrontierPenalty:
    """-(p - 0.5)^2 / scale (SPADE: 0.08), so down to -3.125 at p = 0 and p = 1.

    Attributes:
        scale: > 0.
    """

    scale: float = 0.08
    name: ClassVar[str] = "frontier_penalty"

    def __post_init__(self) -> None:
        """Checks the field; raises `BadInput`."""
        settle(self, "scale", number, 0.0, above=True)

    @property
    def bounds(self) -> tuple[float, float]:
        """From -0.25 / scale to 0."""
        return (-0.25 / self.scale, 0.0)

    def value(self, evidence: Evidence) -> float | None:
        """By the plain arm."""
        return _of_rate(evidence, lambda p: 0.0 - (p - 0.5) ** 2 / self.scale)


@dataclass(frozen=True, slots=True)
class _Share:
    """A share of the evidence, one minus it, or minus it."""

    name: ClassVar[str]
    bounds: ClassVar[tuple[float, float]]
    field: ClassVar[str]
    start: ClassVar[float]
    sign: ClassVar[float]

    def value(self, evidence: Evidence) -> float | None:
        """`start` plus `sign` times the share; None where it was not measured."""
        share = getattr(evidence, self.field)
        return None if share is None else self.start + self.sign * share


class Novelty(_Share):
    """How unlike the known programs it is."""

    name, bounds, field, start, sign = "novelty", (0.0, 1.0), "novelty", 0.0, 1.0


class Repetition(_Share):
    """Minus the share of the batch in the same cluster (R-Zero), without which all programs become alike."""

    name, bounds, field, start, sign = "repetition", (-1.0, 0.0), "repetition", 0.0, -1.0


class LeakPenalty(_Share):
    """Minus how much of the answer is given away."""

    name, bounds, field, start, sign = "leak", (-1.0, 0.0), "leak", 0.0, -1.0


class SkillCoverage(_Share):
    """One minus the share of recent programs of the same skill: rare skills pay."""

    name, bounds, field, start, sign = "skill_coverage", (0.0, 1.0), "skill_share", 1.0, -1.0


def _of_rate(evidence: Evidence, of: Callable[[float], float], least: int = MIN_PLAYS) -> float | None:
    """A function of the plain arm's win rate; None where fewer than `least` plays stand behind it."""
    rate = evidence.win_rate
    if rate is None or evidence.regret is None or evidence.regret.plain.counted < least:
        return None
    return of(rate)


def _cut(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))


def _excess(level: float, spread: float) -> float:
    """E[max(Z - level, 0)] for normal Z around 0 with standard deviation `spread`."""
    normal, at = NormalDist(), level / spread
    return spread * normal.pdf(at) - level * (1 - normal.cdf(at))
