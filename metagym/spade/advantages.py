"""From rewards to advantages, each role and group on its own.

A group is what shares a baseline: plays of one program for the agent, programs of one skill (or document) for the
designer. What was not scored (None, NaN) gets no advantage and moves no mean.

Sources: GRPO's group baseline, Shao et al. (2024), arXiv 2402.03300; leave-one-out, Kool et al. (2019); baselines per
role, read before their update, SPIRAL, arXiv 2506.24119; the designer's scale, SPADE's public code.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metagym.checks import number, shown, whole
from metagym.errors import BadInput

_ROUNDING = 1e-12
"""Scores that differ by less than this share of the largest differ by rounding alone."""

Rule = Callable[[Sequence[float]], list[float]]


@dataclass(frozen=True, slots=True)
class Advantages:
    """The advantages of a batch.

    Attributes:
        values: One per reward, in order; None for an unscored one.
        unscored: How many are None.
        groups: Groups with at least one scored reward.
        flat: Groups among these whose rewards are all alike, and so teach nothing.
    """

    values: tuple[float | None, ...]
    unscored: int
    groups: int
    flat: int


def center(rewards: Sequence[float | None]) -> list[float | None]:
    """Each reward minus the mean of its group; a group without spread gives exactly 0."""
    return _on_scored(rewards, _centered)


def zscore(rewards: Sequence[float | None]) -> list[float | None]:
    """Centred rewards over the group's standard deviation (n - 1); a group without spread gives exactly 0."""
    return _on_scored(rewards, _zscored)


def rloo(rewards: Sequence[float | None]) -> list[float | None]:
    """Each reward minus the mean of the others (leave-one-out); a group without spread gives exactly 0."""
    return _on_scored(rewards, _left_out)


def advantages(
    rewards: Sequence[float | None], groups: Sequence[Hashable], rule: str = "center", scale: float = 1.0
) -> Advantages:
    """The advantages of one role's batch, group by group.

    Args:
        rewards: None and non-finite ones are unscored.
        groups: The group of each reward.
        rule: ``"center"``, ``"zscore"`` or ``"rloo"``.
        scale: Multiplies every advantage (`designer_scale`).

    Raises:
        BadInput: The lengths differ, the rule is unknown, a reward is no number, or nothing in the batch is scored.
    """
    if rule not in _RULES:
        raise BadInput(f"rule is one of {', '.join(_RULES)}, got {shown(rule)}")
    number("scale", scale, 0.0)
    members: dict[Hashable, list[int]] = {}
    scored = _scored(rewards)
    if len(groups) != len(scored):
        raise BadInput(f"each reward has a group: {len(scored)} rewards and {len(groups)} groups")
    if not any(reward is not None for reward in scored):
        raise BadInput(f"none of the {len(scored)} rewards of the batch is scored, so there is nothing to learn from")
    for index, group in enumerate(groups):
        if not isinstance(group, Hashable):
            raise BadInput(f"a group is a name or a number, got {shown(group)}")
        if scored[index] is not None:
            members.setdefault(group, []).append(index)
    values: list[float | None] = [None] * len(scored)
    flat = 0
    for indices in members.values():
        known = [reward for index in indices if (reward := scored[index]) is not None]
        flat += _flat(known)
        for index, value in zip(indices, _RULES[rule](known), strict=True):
            values[index] = scale * value
    return Advantages(tuple(values), values.count(None), len(members), flat)


class EmaBaseline:
    """A moving average of the reward for each (role, group), read before it takes the batch in.

    Advantages by it need no second reward to compare with, so a group may have one member; and no reward is compared
    with itself. The whole batch is compared with the same baseline, then its mean enters it: no order of plays matters.
    """

    def __init__(self, decay: float = 0.95, start: float = 0.0) -> None:
        """Begins without any reward.

        Args:
            decay: Weight of the past, in [0, 1); SPIRAL: 0.95.
            start: The baseline of a group that was never seen.

        Raises:
            BadInput: A setting is out of range.
        """
        self.decay = number("decay", decay, 0.0, 1.0)
        if self.decay == 1.0:
            raise BadInput("decay is below 1, or the baseline never moves")
        self.start = number("start", start, -math.inf)
        self._baselines: dict[tuple[str, str], float] = {}

    def read(self, role: str, group: str) -> float:
        """The present baseline."""
        return self._baselines.get((role, group), self.start)

    def advantages(self, role: str, group: str, rewards: Sequence[float | None]) -> list[float | None]:
        """The rewards minus the baseline as it was before them; unscored ones get None and move nothing."""
        scored, before = _scored(rewards), self.read(role, group)
        known = [reward for reward in scored if reward is not None]
        if known:
            mean = math.fsum(known) / len(known)
            self._baselines[role, group] = self.decay * before + (1 - self.decay) * mean
        return [None if reward is None else reward - before for reward in scored]

    def to_json(self) -> dict[str, Any]:
        """The state as a JSON object."""
        rows = [[role, group, value] for (role, group), value in sorted(self._baselines.items())]
        return {"decay": self.decay, "start": self.start, "baselines": rows}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EmaBaseline:
        """The inverse of `to_json`.

        Raises:
            BadInput: The object is no such state.
        """
        try:
            found = cls(data["decay"], data["start"])
            for role, group, value in data["baselines"]:
                if not (isinstance(role, str) and isinstance(group, str)):
                    raise TypeError(f"role and group are texts, got {shown((role, group))}")
                found._baselines[role, group] = number("baseline", value, -math.inf)
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"not the state of a baseline: {error}") from error
        return found


def designer_scale(actor: int, designer: int, interval: int, cap: float = 50.0) -> float:
    """SPADE's factor on the designer's advantages: min(cap, actor / designer * interval).

    The designer writes few trajectories beside many of the actor's, and only once per interval; without a factor its
    part of the gradient vanishes. Off by default (`advantages(scale=1)`): it multiplies the designer's noise as well.

    Args:
        actor: Trajectories of the actor in the batch, >= 0.
        designer: Trajectories of the designer in the batch, >= 1.
        interval: Rollouts between two designs, >= 1.
        cap: Largest factor, > 0.

    Raises:
        BadInput: An argument is out of range.
    """
    ratio = whole("actor", actor, 0) / whole("designer", designer, 1)
    return min(number("cap", cap, 0.0, above=True), ratio * whole("interval", interval, 1))


def _scored(rewards: Sequence[float | None]) -> list[float | None]:
    try:
        if any(isinstance(reward, str) for reward in rewards):
            raise TypeError
        found = [None if reward is None else float(reward) for reward in rewards]
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"rewards are a list of numbers and None, got {shown(rewards)}") from None
    return [None if reward is None or not math.isfinite(reward) else reward for reward in found]


def _on_scored(rewards: Sequence[float | None], rule: Rule) -> list[float | None]:
    scored = _scored(rewards)
    found = iter(rule([reward for reward in scored if reward is not None]))
    return [None if reward is None else next(found) for reward in scored]


def _flat(rewards: Sequence[float]) -> bool:
    """Whether the rewards are alike up to rounding, which a division by their spread would blow up.

    A spread below the smallest normal number is one: half of it may be no number any more.
    """
    return max(rewards) - min(rewards) <= max(_ROUNDING * max(map(abs, rewards)), sys.float_info.min)


def _centered(rewards: Sequence[float]) -> list[float]:
    if not rewards or _flat(rewards):
        return [0.0] * len(rewards)
    mean = math.fsum(rewards) / len(rewards)
    return [reward - mean for reward in rewards]


def _zscored(rewards: Sequence[float]) -> list[float]:
    centered = _centered(rewards)
    if not any(centered):
        return centered
    largest = max(map(abs, centered))  # squares of tiny or huge rewards must not under- or overflow
    shares = [value / largest for value in centered]
    spread = math.sqrt(math.fsum(share * share for share in shares) / (len(shares) - 1))
    return [share / spread for share in shares]


def _left_out(rewards: Sequence[float]) -> list[float]:
    # r - mean of the others = n / (n - 1) * (r - mean of all)
    centered = _centered(rewards)
    return [value * len(centered) / (len(centered) - 1) for value in centered] if len(centered) > 1 else centered


_RULES: dict[str, Rule] = {"center": _centered, "zscore": _zscored, "rloo": _left_out}


def ema_baseline(
    state: EmaBaseline, role: str, rewards: Sequence[float | None], groups: Sequence[str]
) -> tuple[float | None, ...]:
    """The advantages of one role's batch by moving baselines, each read before the batch enters it.

    Raises:
        BadInput: The lengths differ.
    """
    if len(groups) != len(rewards):
        raise BadInput(f"each reward has a group: {len(rewards)} rewards and {len(groups)} groups")
    members: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    values: list[float | None] = [None] * len(rewards)
    for group, indices in members.items():
        found = state.advantages(role, group, [rewards[index] for index in indices])
        for index, value in zip(indices, found, strict=True):
            values[index] = value
    return tuple(values)
