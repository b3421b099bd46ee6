"""What a run records of a program: how it was designed, how it was played, what it was paid; each with a JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from metagym.episodes import Episode, Usage
from metagym.errors import StoreCorrupt
from metagym.spade.estimates import RegretEstimate
from metagym.spade.hints import HintResult
from metagym.spade.outcomes import PLAIN, Outcome
from metagym.spade.program import EnvProgram, program_in
from metagym.spade.rewards import RewardBreakdown
from metagym.spade.validation import ValidationReport


@dataclass(frozen=True)
class Attempt:
    """One try at writing a program.

    Attributes:
        outcome: ``program``, ``no-reply``, ``error`` (the call failed) or ``pool`` (taken from a fixed pool).
        cause: Explains ``no-reply`` and ``error``.
        reply: The raw reply of the designer; None where there was none.
        given: The source, where it did not come in a reply.
        document: Id, source, title and words left out of the document that grounded it; {} without one.
        report: The verdict; None where there was nothing to judge.
        usage: Tokens of the call.
    """

    outcome: str
    cause: str = ""
    reply: str | None = None
    given: str | None = None
    document: Mapping[str, Any] | None = None
    report: ValidationReport | None = None
    usage: Usage = Usage()

    @cached_property
    def source(self) -> str:
        """The program; the whole reply where it holds none."""
        if self.given is not None or self.reply is None:
            return self.given or ""
        return program_in(self.reply) or self.reply

    @property
    def ok(self) -> bool:
        """Whether it is a program that may be played."""
        return self.report is not None and self.report.ok

    @property
    def code(self) -> str:
        """Why not: the validation's code, ``no-reply`` or ``error``; "" for an accepted program."""
        return self.outcome if self.report is None else self.report.code

    @property
    def words(self) -> str:
        """The verdict in one line, for the designer."""
        return f"{self.outcome}: {self.cause}" if self.report is None else str(self.report)

    def to_json(self) -> dict[str, Any]:
        """The attempt as a JSON object."""
        return {
            "outcome": self.outcome,
            "cause": self.cause,
            "reply": self.reply,
            "given": self.given,
            "document": None if self.document is None else dict(self.document),
            "report": None if self.report is None else self.report.to_json(),
            "usage": self.usage.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Attempt:
        """The inverse of `to_json`."""
        report = None if data["report"] is None else ValidationReport.from_json(data["report"])
        names = ("outcome", "cause", "reply", "given", "document")
        return cls(**{name: data[name] for name in names}, report=report, usage=Usage.from_json(data["usage"]))


@dataclass(frozen=True)
class Design:
    """What came of a slot of a regeneration.

    Attributes:
        round: Of the regeneration.
        slot: Place in it.
        skill: What was asked for.
        attempts: In order, at least one; the first is the one that is paid.
        shown: Digests of the examples that the designer saw.
        backend: Kind of model.
    """

    round: int
    slot: int
    skill: str
    attempts: tuple[Attempt, ...]
    shown: Mapping[str, Any]
    backend: str = "scripted"

    @property
    def first(self) -> Attempt:
        """The attempt that is paid."""
        return self.attempts[0]

    @property
    def last(self) -> Attempt:
        """The attempt that is played, if it was accepted."""
        return self.attempts[-1]

    @property
    def ok(self) -> bool:
        """Whether there is a program to be played."""
        return self.last.ok

    @cached_property
    def program(self) -> EnvProgram:
        """The accepted program."""
        return EnvProgram.parse(self.last.source)

    def refused(self, report: ValidationReport) -> Design:
        """The design with another verdict on its last attempt."""
        return replace(self, attempts=(*self.attempts[:-1], replace(self.last, report=report)))

    def to_json(self) -> dict[str, Any]:
        """The design as a JSON object."""
        return {
            "kind": "design",
            "round": self.round,
            "slot": self.slot,
            "skill": self.skill,
            "attempts": [attempt.to_json() for attempt in self.attempts],
            "shown": dict(self.shown),
            "backend": self.backend,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Design:
        """The inverse of `to_json`."""
        attempts = tuple(Attempt.from_json(item) for item in data["attempts"])
        return cls(data["round"], data["slot"], data["skill"], attempts, data["shown"], data["backend"])


@dataclass(frozen=True)
class Played:
    """The plays of a program in one round.

    Attributes:
        round: When.
        slot: Place of the program.
        digest: The program.
        hint: What came of asking for a hint; None where none was asked for (rounds between regenerations).
        estimate: What the plays say.
        outcomes: Of every play, in a fixed order.
        episodes: Some of the episodes, for reading; ``hinted`` says of which arm each is.
        hinted: As `episodes`.
        killed: The limit that ended the worker; "" where it lived.
        usage: Tokens of the agent; None where the worker was ended (which calls were made is then a matter of timing).
        backend: Kind of model of the agent.
    """

    round: int
    slot: int
    digest: str
    hint: HintResult | None
    estimate: RegretEstimate
    outcomes: tuple[Outcome, ...]
    episodes: tuple[Episode, ...] = ()
    hinted: tuple[bool, ...] = ()
    killed: str = ""
    usage: Usage | None = None
    backend: str = "scripted"

    @property
    def plain_plays(self) -> int:
        """Plays without the hint that could be measured."""
        return sum(one.arm == PLAIN and one.failure is None for one in self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """The plays as a JSON object."""
        return {
            "kind": "plays",
            "round": self.round,
            "slot": self.slot,
            "digest": self.digest,
            "hint": None if self.hint is None else self.hint.to_json(),
            "estimate": self.estimate.to_json(),
            "outcomes": [one.to_json() for one in self.outcomes],
            "episodes": [episode.to_json() for episode in self.episodes],
            "hinted": list(self.hinted),
            "killed": self.killed,
            "usage": None if self.usage is None else self.usage.to_json(),
            "backend": self.backend,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Played:
        """The inverse of `to_json`."""
        return cls(
            data["round"],
            data["slot"],
            data["digest"],
            None if data["hint"] is None else HintResult.from_json(data["hint"]),
            RegretEstimate.from_json(data["estimate"]),
            tuple(Outcome.from_json(item) for item in data["outcomes"]),
            tuple(Episode.from_json(item) for item in data["episodes"]),
            tuple(data["hinted"]),
            data["killed"],
            None if data["usage"] is None else Usage.from_json(data["usage"]),
            data["backend"],
        )


@dataclass(frozen=True)
class Paid:
    """What a slot's designer was paid, and what that rests on.

    Attributes:
        round: Of the regeneration.
        slot: Place in it.
        digest: Of the first attempt's program; "" where it wrote none.
        breakdown: The reward of the first attempt.
        program: The reward that the accepted program would earn, where it came from a later attempt; else None.
        novelty: 1 - similarity to the nearest known program; None where it was not measured.
        leak: 1.0 where hint or observations gave the answer away, else 0.0; None where nobody looked.
        seen: Further evidence: repetition, win_baseline, skill_share.
    """

    round: int
    slot: int
    digest: str
    breakdown: RewardBreakdown
    program: RewardBreakdown | None = None
    novelty: float | None = None
    leak: float | None = None
    seen: Mapping[str, float | None] | None = None

    def to_json(self) -> dict[str, Any]:
        """The payment as a JSON object."""
        return {
            "kind": "reward",
            "round": self.round,
            "slot": self.slot,
            "digest": self.digest,
            "breakdown": self.breakdown.to_json(),
            "program": None if self.program is None else self.program.to_json(),
            "novelty": self.novelty,
            "leak": self.leak,
            "seen": dict(self.seen or {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Paid:
        """The inverse of `to_json`."""
        program = None if data["program"] is None else RewardBreakdown.from_json(data["program"])
        return cls(
            data["round"],
            data["slot"],
            data["digest"],
            RewardBreakdown.from_json(data["breakdown"]),
            program,
            data["novelty"],
            data["leak"],
            data["seen"],
        )


@dataclass(frozen=True)
class Slot:
    """A slot of a round with all that is known of it.

    Attributes:
        design: How its program came about.
        played: Its plays in this round; None for a program that was refused.
        paid: What the designer got; None in rounds between regenerations.
    """

    design: Design
    played: Played | None = None
    paid: Paid | None = None


def read(kind: type[Any], key: str, value: Any) -> Any:
    """A record of a run as one of the classes above.

    Raises:
        StoreCorrupt: It is none; the message names the key.
    """
    try:
        return kind.from_json(value)
    except (KeyError, TypeError, ValueError, AttributeError, LookupError) as error:
        raise StoreCorrupt(f"record {key!r} is none of a SPADE run ({type(error).__name__}: {error!s:.200})") from error
