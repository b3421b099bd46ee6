"""What a designer is paid: a weighted sum of named terms, every part of it on record; and the presets.

The side-by-side table of the presets is in docs/spade_rewards.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from types import MappingProxyType
from typing import Any

from metagym.checks import number, settle, shown
from metagym.errors import BadInput, UnknownName
from metagym.spade.evidence import Evidence, Term
from metagym.spade.settling import Settling, TimeoutPenalty, Validity
from metagym.spade.terms import (
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
    SkillCoverage,
    SolverVariance,
    TeachableRegret,
    WinShift,
)

__all__ = [
    "PRESETS",
    "DesignerReward",
    "Evidence",
    "FrontierPenalty",
    "LeakPenalty",
    "Learnability",
    "MicroLP",
    "MinP",
    "Novelty",
    "OneMinusP",
    "Plateau",
    "Regret",
    "Repetition",
    "RewardBreakdown",
    "SkillCoverage",
    "SolverVariance",
    "TeachableRegret",
    "Term",
    "TimeoutPenalty",
    "Validity",
    "WinShift",
    "preset",
]


@dataclass(frozen=True, slots=True)
class RewardBreakdown:
    """A reward and where it comes from.

    Attributes:
        total: The reward; None where evidence is missing.
        terms: Value of every term that was asked, before its weight; None where its evidence is missing.
        masked: The program must not enter the designer's update: unscored, or below the reward's `mask_below`.
        reason: Why it is masked, or which term settled the sum; "" for an ordinary reward.
    """

    total: float | None
    terms: dict[str, float | None]
    masked: bool = False
    reason: str = ""

    @property
    def trained(self) -> float | None:
        """What goes into the advantages: the total, None where masked."""
        return None if self.masked else self.total

    def to_json(self) -> dict[str, Any]:
        """The breakdown as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RewardBreakdown:
        """The inverse of `to_json`.

        Raises:
            BadInput: The object is no breakdown.
        """
        try:
            return cls(**data)
        except TypeError as error:
            raise BadInput(f"not the breakdown of a reward: {error}") from error


@dataclass(frozen=True, slots=True)
class DesignerReward:
    """A designer's reward: ``sum(weight * term) * product(factors)``.

    The first `Settling` term (`TimeoutPenalty`, `Validity`) that applies is the whole reward. Otherwise a term of
    nonzero weight, or a factor, whose evidence is missing leaves the program unscored: what was not measured is not 0.

    Attributes:
        name: For records.
        terms: (weight, term), the names of all terms different.
        factors: Terms within [0, 1] that scale the sum.
        mask_below: Rewards below it are masked; None masks none. SPADE: 0, since a negative reward would push the mean
            of the skill below 0 and hand unsolvable programs a positive advantage. Settled rewards are not masked.
    """

    name: str
    terms: tuple[tuple[float, Term], ...]
    factors: tuple[Term, ...] = ()
    mask_below: float | None = None

    def __post_init__(self) -> None:
        """Checks the fields.

        Raises:
            BadInput: No term, two of one name, a weight that is no number, or a factor outside [0, 1].
        """
        object.__setattr__(self, "terms", tuple((number("weight", w, -math.inf), term) for w, term in self.terms))
        object.__setattr__(self, "factors", tuple(self.factors))
        settle(self, "mask_below", number, -math.inf, none=True)
        names = [term.name for term in (*(term for _, term in self.terms), *self.factors)]
        if not self.terms or len(set(names)) < len(names):
            raise BadInput(f"a reward has at least one term and no two of one name, got {shown(names)}")
        for factor in self.factors:
            if factor.bounds[0] < 0 or factor.bounds[1] > 1:
                raise BadInput(f"a factor lies in [0, 1], and {factor.name} in {list(factor.bounds)}")

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest possible total."""
        ends = [0.0, 0.0]
        settled = [0.0]
        for weight, term in self.terms:
            low, high = sorted(weight * end for end in term.bounds)
            if isinstance(term, Settling):
                settled += [low, high]
            else:
                ends[0] += low
                ends[1] += high
        if self.factors:
            ends += [0.0]
        return (min(*ends, *settled), max(*ends, *settled))

    def __call__(self, evidence: Evidence) -> RewardBreakdown:
        """The reward that the evidence earns."""
        for weight, term in self.terms:
            if isinstance(term, Settling) and term.settles(evidence):
                told: dict[str, float | None] = {term.name: term.penalty}
                return RewardBreakdown(weight * term.penalty, told, reason=f"settled by {term.name}")
        values = {term.name: _value(term, evidence) for _, term in self.terms}
        values |= {factor.name: _value(factor, evidence) for factor in self.factors}
        needed = [term.name for weight, term in self.terms if weight] + [factor.name for factor in self.factors]
        missing = [name for name in needed if values[name] is None]
        if missing:
            return RewardBreakdown(None, values, True, f"no evidence for {', '.join(missing)}")
        parts = [weight * value for weight, term in self.terms if (value := values[term.name]) is not None]
        total = math.fsum(parts)
        for factor in self.factors:
            total *= values[factor.name] or 0.0
        if self.mask_below is not None and total < self.mask_below:
            return RewardBreakdown(total, values, True, f"{self.name} is below {self.mask_below:g}")
        return RewardBreakdown(total, values)

    def to_json(self) -> dict[str, Any]:
        """Name, terms with weights and settings, and rules, for a run's manifest."""
        return {
            "name": self.name,
            "terms": [{"weight": weight, **_settings(term)} for weight, term in self.terms],
            "factors": [_settings(factor) for factor in self.factors],
            "mask_below": self.mask_below,
        }


def spade_blend(
    micro_lp: float = 0.0, frontier: float = 0.0, lo: float = 0.4, hi: float = 0.6, ramp: float = 0.25
) -> DesignerReward:
    """SPADE's own reward: 0.4 regret + 0.6 plateau, masked below 0; invalid 0, hung -0.5.

    Args:
        micro_lp: Weight of learning progress (off in the main runs).
        frontier: Weight of the frontier penalty (off in the main runs).
        lo: Lower end of the plateau; 0.2 in the later phase of the 4B run.
        hi: Upper end; 0.4 there.
        ramp: Width of its flanks; 0.2 there.
    """
    terms: list[tuple[float, Term]] = [(1.0, TimeoutPenalty()), (1.0, Validity())]
    terms += [(0.4, Regret()), (0.6, Plateau(lo, hi, ramp))]
    terms += [(micro_lp, MicroLP())] if micro_lp else []
    terms += [(frontier, FrontierPenalty())] if frontier else []
    return DesignerReward("spade_blend", tuple(terms), mask_below=0.0)


def spade_regret(solver_variance: float = 0.0, invalid: float = 0.0) -> DesignerReward:
    """SPADE's pure regret: max(0, regret); invalid 0, hung -0.5.

    Args:
        invalid: What an invalid program is paid, in [-1, 0]. At SPADE's 0 it is worth as much as a valid one that
            teaches nothing, so that a designer that starts without knowing the form may lose it again.
        solver_variance: Weight of the bonus for varied plays (on in the 4B tool-use run; its weight is not published).
    """
    terms: list[tuple[float, Term]] = [(1.0, TimeoutPenalty()), (1.0, Validity(invalid)), (1.0, Regret(scale=1.0))]
    terms += [(solver_variance, SolverVariance())] if solver_variance else []
    return DesignerReward("spade_regret", tuple(terms))


def learning_potential() -> DesignerReward:
    """SPADE's ablation: |win rate - its slow moving average|; needs `Evidence.win_baseline`."""
    return DesignerReward("learning_potential", ((1.0, TimeoutPenalty()), (1.0, Validity()), (1.0, WinShift())))


def solve_rate(lo: float = 0.4, hi: float = 0.6, ramp: float = 0.25) -> DesignerReward:
    """SPADE's ablation: the plateau alone."""
    return DesignerReward("solve_rate", ((1.0, TimeoutPenalty()), (1.0, Validity()), (1.0, Plateau(lo, hi, ramp))))


def azr(as_code: bool = False) -> DesignerReward:
    """Absolute Zero: 1 - p where p > 0, else 0; invalid or hung -1.

    Args:
        as_code: Pay -0.5 instead of 0 at p = 0 and at p = 1, as its code does and its paper does not.
    """
    value = OneMinusP(-0.5 if as_code else 0.0)
    return DesignerReward("azr", ((1.0, TimeoutPenalty(-1.0)), (1.0, Validity(-1.0)), (1.0, value)))


def rzero() -> DesignerReward:
    """R-Zero: min(p, 1 - p) less the share of near-duplicates in the batch; invalid or hung -1.

    It needs `Evidence.repetition`.
    """
    terms = (1.0, TimeoutPenalty(-1.0)), (1.0, Validity(-1.0)), (1.0, MinP()), (1.0, Repetition())
    return DesignerReward("rzero", terms)


def spice(invalid: float = -0.1) -> DesignerReward:
    """SPICE: exp(-(V - 0.25)^2 / 0.02) of the plays' variance V.

    Args:
        invalid: The fixed penalty of an invalid or hung program; its size was not checked against the source.
    """
    terms = (1.0, TimeoutPenalty(invalid)), (1.0, Validity(invalid)), (1.0, SolverVariance())
    return DesignerReward("spice", terms)


def metagym(novelty: bool = False, lower_bound: bool = True) -> DesignerReward:
    """Ours: teachable regret alone, at the lower end of its interval; invalid -0.1, hung -0.5.

    It pays nothing for programs that are trivial, impossible, solvable only with the hint, or half trivial and half
    impossible, nor for a hint that is useless or hurts: see `TeachableRegret`. Invalid programs are charged a little,
    so that learning to write valid ones pays, and no more, so that a useless one gains little from standing beside
    invalid ones in its group.

    Args:
        novelty: Multiply by the novelty, so that a copy of a known program earns nothing; needs `Evidence.novelty`. A
            factor, not a bonus: being new alone is worth nothing.
        lower_bound: False pays the point estimate, cut at 0: less careful, and positive on average for pure noise.
    """
    terms: tuple[tuple[float, Term], ...] = (
        (1.0, TimeoutPenalty()),
        (1.0, Validity(-0.1)),
        (1.0, TeachableRegret(lower_bound=lower_bound)),
    )
    return DesignerReward("metagym", terms, (Novelty(),) if novelty else ())


PRESETS: Mapping[str, Callable[..., DesignerReward]] = MappingProxyType(
    {
        function.__name__: function
        for function in (spade_blend, spade_regret, learning_potential, solve_rate, azr, rzero, spice, metagym)
    }
)
"""Name -> the function that makes the reward; its arguments are the documented options."""


def preset(name: str, **options: Any) -> DesignerReward:
    """The reward of a name, e.g. ``preset("azr", as_code=True)``.

    Raises:
        UnknownName: There is no such preset.
        BadInput: It has no such option, or the option's value is out of range.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise UnknownName(f"there is no reward {shown(name)}; there are {', '.join(PRESETS)}")
    try:
        return PRESETS[name](**options)
    except TypeError as error:
        raise BadInput(f"the reward {name!r} cannot be made of {shown(options)}: {error}") from error


def _value(term: Term, evidence: Evidence) -> float | None:
    value = term.value(evidence)
    if value is not None and not math.isfinite(value):
        raise BadInput(f"the term {term.name!r} is {value}; a term of a reward is a finite number or None")
    return value


def _settings(term: Any) -> dict[str, Any]:
    return {"name": term.name, **(asdict(term) if is_dataclass(term) and not isinstance(term, type) else {})}
