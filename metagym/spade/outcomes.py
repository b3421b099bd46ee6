"""What one play of a program came to, who plays it, and on which seeds both arms are played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from metagym.checks import number, settle, shown, whole
from metagym.errors import BadInput
from metagym.seeding import check_seed, derive

Failure = Literal["agent_error", "env_error", "timeout"]

FAILURES: tuple[Failure, ...] = ("agent_error", "env_error", "timeout")
"""Why a play has no result: the agent's side failed (its model, its budget), the program itself raised or answered no
transition, or a call of the program ran past its limit."""

PLAIN, HINTED = 0, 1
"""The two arms: without and with the privileged hint."""

_SEED_BITS = 31


@dataclass(frozen=True, slots=True)
class Outcome:
    """One play of a program.

    Attributes:
        seed: The seed that the program was reset with.
        repeat: Which of the plays of this seed in this arm, from 0.
        arm: `PLAIN` (0, no hint) or `HINTED` (1).
        ret: The return; None where the play has none.
        success: Whether the play won; None where nobody can tell.
        failure: One of `FAILURES`, or None for a play that went to its end. A failed play has neither return nor
            success: a failure is not a loss.
        steps: Turns taken, invalid ones included.
        invalid: Turns in which no valid action was found, 0..steps.
    """

    seed: int
    repeat: int = 0
    arm: int = PLAIN
    ret: float | None = None
    success: bool | None = None
    failure: Failure | None = None
    steps: int = 0
    invalid: int = 0

    def __post_init__(self) -> None:
        """Checks the fields.

        Raises:
            BadInput: A field is out of range, or a failed play claims a result.
        """
        check_seed(self.seed)
        for name in ("repeat", "steps", "invalid"):
            settle(self, name, whole, 0)
        if self.arm not in (PLAIN, HINTED):
            raise BadInput(f"arm is 0 (no hint) or 1 (hint), got {shown(self.arm)}")
        settle(self, "ret", number, -float("inf"), none=True)
        if self.success is not None and not isinstance(self.success, bool):
            raise BadInput(f"success is True, False or None, got {shown(self.success)}")
        if self.failure is not None and self.failure not in FAILURES:
            raise BadInput(f"failure is one of {', '.join(FAILURES)} or None, got {shown(self.failure)}")
        if self.failure is not None and (self.ret is not None or self.success is not None):
            raise BadInput(f"a play that ended in {self.failure} has neither return nor success; leave both None")
        if self.invalid > self.steps:
            raise BadInput(f"invalid counts turns, of which there were {self.steps}, got {self.invalid}")

    def score(self, binary: bool) -> float | None:
        """Success as 0 or 1, or the return; None where it was not measured."""
        if self.failure is not None:
            return None
        if not binary:
            return self.ret
        return None if self.success is None else float(self.success)

    def to_json(self) -> dict[str, Any]:
        """The outcome as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        """The inverse of `to_json`.

        Raises:
            BadInput: The object is no outcome.
        """
        try:
            return cls(**data)
        except TypeError as error:
            raise BadInput(f"not an outcome: {error}") from error


class Player(Protocol):
    """Plays a program once.

    Called from several coroutines at a time; limiting how many run at once is the player's own business. What goes
    wrong in a play is returned as `Outcome.failure`; an exception means that no further play can succeed either (a
    budget is spent, the caller made a mistake), and ends the whole estimate.
    """

    async def __call__(self, program: Any, seed: int, hint: str | None, agent: Any, sampling_seed: int, /) -> Outcome:
        """Plays one episode.

        Args:
            program: What is played.
            seed: For the program's reset.
            hint: To be injected into the first observation; None for the plain arm.
            agent: Who plays.
            sampling_seed: Decides every draw of the agent.

        Returns:
            The outcome; its seed, repeat and arm are filled in by the caller.
        """
        ...


def pair_seeds(digest: str, round: int, n: int, seed: int = 0) -> list[int]:
    """The seeds on which both arms of a program are played (common random numbers).

    They depend on the arguments alone: no process, worker or hash seed can change them, and another round of the same
    program gets fresh ones.

    Args:
        digest: Identifies the program, e.g. its source digest.
        round: The round of the loop, >= 0.
        n: How many, >= 1.
        seed: The seed of the run.

    Returns:
        `n` different integers below 2**31: programs hand them to generators that take no more (NumPy's old one).

    Raises:
        BadInput: An argument is out of range.
    """
    whole("round", round, 0)
    found: dict[int, None] = {}
    draw = 0
    for _ in range(whole("n", n, 1)):
        while (drawn := derive(seed, "spade", "pair", digest, round, draw) >> (63 - _SEED_BITS)) in found:
            draw += 1  # twice the same seed would count one play as two
        found[drawn] = None
        draw += 1
    return list(found)


def sampling_seed(arm: int, seed: int, repeat: int) -> int:
    """The seed of the agent's own draws in one play: each arm, seed and repeat has its own."""
    return derive(seed, "spade", "sampling", arm, repeat)
