"""Terms of a designer's reward that settle it: where one of them applies, nothing else counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from metagym.checks import number, settle
from metagym.spade.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Settling(ABC):
    """A term that is the whole reward where it applies, and 0 elsewhere.

    Attributes:
        penalty: The fixed reward, in [-1, 0].
    """

    penalty: float = 0.0
    name: ClassVar[str]

    def __post_init__(self) -> None:
        """Checks the penalty; raises `BadInput`."""
        settle(self, "penalty", number, -1.0, 0.0)

    @property
    def bounds(self) -> tuple[float, float]:
        """From the penalty to 0."""
        return (self.penalty, 0.0)

    @abstractmethod
    def settles(self, evidence: Evidence) -> bool:
        """Whether nothing else counts."""

    def value(self, evidence: Evidence) -> float:
        """The penalty or 0."""
        return self.penalty if self.settles(evidence) else 0.0


@dataclass(frozen=True, slots=True)
class Validity(Settling):
    """The reward of a program that is refused, or fails while it is played: it has no other evidence."""

    name: ClassVar[str] = "validity"

    def settles(self, evidence: Evidence) -> bool:
        """Whether the program is no environment."""
        return not evidence.sound


@dataclass(frozen=True, slots=True)
class TimeoutPenalty(Settling):
    """The reward of a program that hung; SPADE: -0.5, bounded so that one hang does not swamp a batch."""

    penalty: float = -0.5
    name: ClassVar[str] = "timeout"

    def settles(self, evidence: Evidence) -> bool:
        """Whether the program ran past a limit."""
        return evidence.timed_out
