"""Frontier shaping: what the solver's success rate on a question is worth to the challenger.

A question that is always or never solved teaches nothing, so the bells pay nothing for either. `one_minus_acc` (SSP's
default) pays most for what is never solved; `constant` pays for every valid question alike (the ablation without
frontier shaping).

Expected reward of a true success probability p at n = 5 rollouts, from the binomial distribution (pinned by tests):

    p                 0.05   0.25   0.50
    quadratic         0.15   0.60   0.80      = 4 p (1 - p) (1 - 1/n)
    gaussian .5/.2    0.09   0.44   0.65
    min               0.05   0.22   0.31
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

from metagym.checks import number, settle, shown, whole
from metagym.errors import BadInput

MIN_VALID = 2
"""Scored rollouts below which a question is dropped; with one alone every bell is 0."""


class Shape(Protocol):
    """A shape: success rate in, reward out.

    Attributes:
        name: As in specs.
        bell: Whether it is 0 at 0 and at 1, and so needs two rollouts to say anything.
    """

    name: ClassVar[str]
    bell: ClassVar[bool]

    def __call__(self, rate: float) -> float:
        """The reward of a success rate in [0, 1]."""
        ...


@dataclass(frozen=True)
class Quadratic:
    """``4 (left + s) (right - s)`` for 0 < s < 1, else 0: SSP's ``intermediate_difficulty``.

    Its maximum is ``(left + right)^2`` at ``(right - left) / 2``. What would be negative is 0.

    Attributes:
        left: In [-1, 1]; SSP's default is 0.
        right: In [0, 2]; SSP's default is 1.
    """

    name: ClassVar[str] = "quadratic"
    bell: ClassVar[bool] = True
    left: float = 0.0
    right: float = 1.0

    def __post_init__(self) -> None:
        """Checks that the maximum lies between 0 and 1."""
        settle(self, "left", number, -1.0, 1.0)
        settle(self, "right", number, 0.0, 2.0)
        if not (self.left + self.right > 0 and 0 < self.peak < 1):
            raise BadInput(f"quadratic with left={self.left:g} and right={self.right:g} has no maximum inside (0, 1)")

    @property
    def peak(self) -> float:
        """Success rate that pays most."""
        return (self.right - self.left) / 2

    def __call__(self, rate: float) -> float:
        """See `Shape`."""
        return max(0.0, 4 * (self.left + rate) * (self.right - rate)) if 0 < rate < 1 else 0.0


@dataclass(frozen=True)
class Gaussian:
    """``exp(-(s - mu)^2 / (2 sigma^2))`` for 0 < s < 1, else 0.

    Attributes:
        mu: Success rate that pays most, in (0, 1).
        sigma: Width, above 0.
    """

    name: ClassVar[str] = "gaussian"
    bell: ClassVar[bool] = True
    mu: float = 0.5
    sigma: float = 0.2

    def __post_init__(self) -> None:
        """Checks the ranges."""
        settle(self, "mu", number, 0.0, 1.0)
        settle(self, "sigma", number, 0.0, above=True)
        if not 0 < self.mu < 1:
            raise BadInput(f"mu lies inside (0, 1), got {self.mu:g}")

    @property
    def peak(self) -> float:
        """Success rate that pays most."""
        return self.mu

    def __call__(self, rate: float) -> float:
        """See `Shape`."""
        return math.exp(-(((rate - self.mu) / self.sigma) ** 2) / 2) if 0 < rate < 1 else 0.0


@dataclass(frozen=True)
class Smaller:
    """``min(s, 1 - s)``: R-Zero's public code (its paper writes 1 - 2 |s - 1/2|, which is twice that)."""

    name: ClassVar[str] = "min"
    bell: ClassVar[bool] = True
    peak: ClassVar[float] = 0.5

    def __call__(self, rate: float) -> float:
        """See `Shape`."""
        return min(rate, 1 - rate)


@dataclass(frozen=True)
class Spice:
    """``exp(-(v - 1/4)^2 / (2 * 0.01))`` with v = s (1 - s) for 0 < s < 1, else 0: after SPICE.

    The formula is taken from summaries and was not checked against SPICE's own source. By it a question that is always
    or never solved would still earn 0.044; here it earns 0, like with the other bells.
    """

    name: ClassVar[str] = "spice"
    bell: ClassVar[bool] = True
    peak: ClassVar[float] = 0.5

    def __call__(self, rate: float) -> float:
        """See `Shape`."""
        return math.exp(-((rate * (1 - rate) - 0.25) ** 2) / (2 * 0.01)) if 0 < rate < 1 else 0.0


@dataclass(frozen=True)
class OneMinusAccuracy:
    """``1 - s``: SSP's default; no bell."""

    name: ClassVar[str] = "one_minus_acc"
    bell: ClassVar[bool] = False

    def __call__(self, rate: float) -> float:
        """See `Shape`."""
        return 1.0 - rate


@dataclass(frozen=True)
class Constant:
    """The same for every valid question: SSP's ``format_only``, and the ablation without frontier shaping.

    Attributes:
        value: The reward.
    """

    name: ClassVar[str] = "constant"
    bell: ClassVar[bool] = False
    value: float = 1.0

    def __post_init__(self) -> None:
        """Checks the value."""
        settle(self, "value", number, -100.0, 100.0)

    def __call__(self, rate: float) -> float:
        """See `Shape`."""
        return self.value


SHAPES: Mapping[str, Callable[..., Any]] = {
    shape.name: shape for shape in (Quadratic, Gaussian, Smaller, Spice, OneMinusAccuracy, Constant)
}
"""Name -> class."""


def load_shape(spec: str | Shape) -> Shape:
    """A shape from its spec: ``quadratic``, ``gaussian?mu=0.5&sigma=0.2``, ``min``, ``spice``, ``one_minus_acc``, ...

    Raises:
        BadInput: There is no such shape or setting.
    """
    if not isinstance(spec, str):
        if callable(spec) and hasattr(spec, "bell") and hasattr(spec, "name"):
            return spec
        raise BadInput(f"a shape is a spec or has name, bell and a call, got {shown(spec)}")
    name, mark, query = spec.partition("?")
    if name not in SHAPES:
        raise BadInput(f"there is no shape {shown(name)}; there are {', '.join(SHAPES)}")
    known = {field.name for field in fields(SHAPES[name])}  # type: ignore[arg-type]
    given: dict[str, float] = {}
    for pair in query.split("&") if mark else []:
        key, equals, value = pair.partition("=")
        if key not in known or not equals or key in given:
            raise BadInput(
                f"the settings of the shape {name} are {', '.join(sorted(known)) or 'none'}; got {shown(pair)}"
            )
        try:
            given[key] = float(value)
        except ValueError:
            raise BadInput(f"{key} of the shape {name} is a number, got {shown(value)}") from None
    made: Shape = SHAPES[name](**given)
    return made


def shape_spec(shape: Shape) -> str:
    """The spec of a shape with every setting written out, for run cards; `load_shape` reads it back."""
    pairs = [f"{field.name}={float(getattr(shape, field.name))!r}" for field in fields(shape)]  # type: ignore[arg-type]
    return shape.name + ("?" + "&".join(pairs) if pairs else "")


def check_rollouts(shape: Shape, rollouts: Any, min_valid: Any = MIN_VALID) -> tuple[int, int]:
    """The number of rollouts and of those that must be scored, checked against a shape.

    Raises:
        BadInput: A bell would always see a success rate of 0 or 1, and so always pay 0; or more must be scored than
            are played.
    """
    rollouts, min_valid = whole("rollouts", rollouts, 1), whole("min_valid", min_valid, 1)
    if shape.bell and rollouts < 2:
        raise BadInput(f"rollouts is 1: the bell {shape.name} would pay 0 for every question; play at least 2")
    if shape.bell and min_valid < 2:
        raise BadInput(
            f"min_valid is 1: of one scored rollout the bell {shape.name} always makes 0; ask for at least 2"
        )
    if min_valid > rollouts:
        raise BadInput(f"min_valid is {min_valid} and only {rollouts} rollouts are played")
    return rollouts, min_valid


@dataclass(frozen=True)
class Measured:
    """How the solver did on one question.

    Attributes:
        rate: Share of successes among the scored rollouts; None where too few were scored: the question is dropped.
        scored: Rollouts that count.
        unscored: Rollouts that failed for reasons that are not the solver's (search down, judge down, deadline).
    """

    rate: float | None
    scored: int
    unscored: int

    @property
    def frontier(self) -> bool:
        """Whether some rollouts succeeded and some did not."""
        return self.rate is not None and 0 < self.rate < 1


def measure(outcomes: Sequence[bool | None], min_valid: int = MIN_VALID) -> Measured:
    """The success rate of the scored rollouts of one question.

    Args:
        outcomes: One per rollout; None for one that was not scored. Unscored is not wrong: it leaves the denominator.
        min_valid: Scored rollouts below which there is no rate.
    """
    known = [bool(outcome) for outcome in outcomes if outcome is not None]
    rate = sum(known) / len(known) if known and len(known) >= min_valid else None
    return Measured(rate, len(known), len(outcomes) - len(known))
