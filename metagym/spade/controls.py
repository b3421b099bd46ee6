"""The two controls that regret is held against: absolute reward, which stays easy, and minimax, which goes impossible.

Both are of the literature on unsupervised environment design: Dennis et al. (2020), arXiv 2012.02096, section 4. They
are no presets, since nobody should train a designer with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from metagym.errors import BadInput, UnknownName
from metagym.spade.evidence import Evidence
from metagym.spade.rewards import PRESETS, DesignerReward, Validity, preset


@dataclass(frozen=True, slots=True)
class WinRate:
    """The agent's win rate without the hint."""

    name: ClassVar[str] = "win_rate"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def value(self, evidence: Evidence) -> float | None:
        """None for a program that was not played."""
        return evidence.win_rate


def absolute() -> DesignerReward:
    """What the agent earns: a designer that is paid so writes what is won anyway."""
    return DesignerReward("absolute", ((1.0, Validity(-1.0)), (1.0, WinRate())))


def minimax() -> DesignerReward:
    """What the agent loses: a designer that is paid so writes what nobody can win."""
    return DesignerReward("minimax", ((1.0, Validity(-1.0)), (-1.0, WinRate())))


CONTROLS: Mapping[str, Callable[..., DesignerReward]] = MappingProxyType({"absolute": absolute, "minimax": minimax})
"""The controls by name."""


def reward_of(name: str, options: Mapping[str, Any] | None = None) -> DesignerReward:
    """The reward of a name: a preset of `metagym.spade.rewards`, or a control.

    Raises:
        UnknownName: There is none.
        BadInput: It has no such option, or the option's value is out of range.
    """
    if name not in CONTROLS:
        if name not in PRESETS:
            raise UnknownName(f"there is no reward {name!r:.80}; there are {', '.join((*PRESETS, *CONTROLS))}")
        return preset(name, **(options or {}))
    if options:
        raise BadInput(f"the reward {name!r} has no options, got {', '.join(options)}")
    return CONTROLS[name]()
