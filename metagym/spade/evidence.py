"""What a designer's reward may look at, and what a term of it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from metagym.checks import flag, number, settle, shown, whole
from metagym.errors import BadInput
from metagym.spade.estimates import RegretEstimate

MIN_PLAYS = 2
"""A rate of one play is 0 or 1, so that 1 - p and p(1 - p) of it pay nothing for ever."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a reward may look at. None means: not measured.

    Attributes:
        valid: Whether the program passed validation.
        regret: What its plays say; None for a program that was not played.
        hung: Whether the program ran past its limits outside a counted play (a canary).
        win_baseline: Slow moving average of the agent's win rate before this program, in [0, 1].
        history: (win rate, plays) of this program in the rounds of the window, oldest first, this one included.
        novelty: 1 - similarity to the nearest known programs, in [0, 1].
        repetition: Share of the batch in this program's cluster of near-duplicates, in [0, 1].
        leak: How much of the answer hint or observations give away, in [0, 1].
        skill_share: Share of the recent programs that train this program's skill, in [0, 1].
    """

    valid: bool
    regret: RegretEstimate | None = None
    hung: bool = False
    win_baseline: float | None = None
    history: tuple[tuple[float, int], ...] | None = None
    novelty: float | None = None
    repetition: float | None = None
    leak: float | None = None
    skill_share: float | None = None

    def __post_init__(self) -> None:
        """Checks the fields.

        Raises:
            BadInput: A share lies outside [0, 1], or a switch is none.
        """
        settle(self, "valid", flag)
        settle(self, "hung", flag)
        for name in ("win_baseline", "novelty", "repetition", "leak", "skill_share"):
            settle(self, name, number, 0.0, 1.0, none=True)
        if self.history is not None:
            try:
                points = tuple((number("win rate", w, 0.0, 1.0), whole("plays", n, 0)) for w, n in self.history)
            except BadInput:
                raise
            except (TypeError, ValueError) as error:
                raise BadInput(f"history holds pairs (win rate, plays), got {shown(self.history)}") from error
            object.__setattr__(self, "history", points)

    @property
    def sound(self) -> bool:
        """Whether the program passed validation and did not fail while it was played."""
        return self.valid and not (self.regret is not None and self.regret.invalidated)

    @property
    def timed_out(self) -> bool:
        """Whether a call of the program ran past its limit."""
        arms = () if self.regret is None else (self.regret.plain, self.regret.hinted)
        return self.hung or any(arm.failures["timeout"] for arm in arms)

    @property
    def win_rate(self) -> float | None:
        """The agent's rate of success without the hint."""
        return None if self.regret is None else self.regret.plain.win_rate


class Term(Protocol):
    """One part of a reward."""

    @property
    def name(self) -> str:
        """What it is called in records; unique within a reward."""
        ...

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value."""
        ...

    def value(self, evidence: Evidence) -> float | None:
        """Its value within the bounds; None where the evidence it needs was not measured."""
        ...
