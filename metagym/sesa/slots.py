"""One slot of a round: a question, how it came about, what the solver made of it, what it paid; and their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

from metagym.episodes import Episode
from metagym.errors import BadInput, StoreCorrupt
from metagym.sesa.challenger import Challenge
from metagym.sesa.retrieval import SkillBlock
from metagym.sesa.rounds import Attempt, Paid
from metagym.sesa.shaping import Measured
from metagym.strictjson import plain_json

T = TypeVar("T")


class Records(Protocol):
    """Where records go: a `metagym.journal.Journal`, or anything with these three methods."""

    def get(self, key: str, default: Any = None) -> Any:
        """The record of a key."""
        ...

    def append_many(self, items: Iterable[tuple[str, Any]]) -> Any:
        """Stores records; they are durable when it returns."""
        ...

    def __contains__(self, key: object) -> bool:
        """Whether the key has a record."""
        ...


class MemoryRecords:
    """Records that live as long as the process, for code that wants no folder.

    Attributes:
        items: Key -> record.
    """

    def __init__(self) -> None:
        self.items: dict[str, Any] = {}

    def get(self, key: str, default: Any = None) -> Any:
        """The record of a key."""
        return self.items.get(key, default)

    def append_many(self, items: Iterable[tuple[str, Any]]) -> None:
        """Stores records in the form that a file would give back."""
        self.items.update({key: plain_json(value, f"record {key!r}") for key, value in items})

    def __contains__(self, key: object) -> bool:
        """Whether the key has a record."""
        return key in self.items


@dataclass(frozen=True)
class Slot:
    """A slot of a round.

    Attributes:
        round: The round.
        number: Place in the round.
        challenge: How the question came about; None for one of a fixed set.
        attempt: What the solver made of it; None where it was not asked.
        paid: What the challenger earned, and the solver's success rate; None while the round goes on.
    """

    round: int
    number: int
    challenge: Challenge | None
    attempt: Attempt | None
    paid: Paid | None

    @property
    def question(self) -> str | None:
        """The question; None where none was asked."""
        if self.challenge is not None:
            return self.challenge.question
        return None if self.attempt is None else self.attempt.question

    @property
    def rate(self) -> float | None:
        """The solver's success rate; None where it was not measured."""
        return None if self.paid is None or self.paid.measured is None else self.paid.measured.rate

    @property
    def asked(self) -> bool:
        """Whether the solver was asked."""
        return self.attempt is not None

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """All episodes of the slot: the challenger's, the rollouts, the probes."""
        own = () if self.challenge is None else (self.challenge.episode,)
        return own if self.attempt is None else (*own, *self.attempt.episodes, *self.attempt.probes)


def attempt_of(data: Any) -> Attempt:
    """The inverse of `Attempt.to_json`."""
    skills = data["skills"]
    return Attempt(
        data["question"],
        tuple(data["answers"]),
        tuple(map(Episode.from_json, data["episodes"])),
        tuple(map(Episode.from_json, data["probes"])),
        SkillBlock(skills["text"], tuple(skills["ids"]), tuple(skills["dropped"])),
    )


def paid_json(paid: Paid) -> dict[str, Any]:
    """What a challenge earned as a JSON object."""
    return asdict(paid)


def paid_of(data: Any) -> Paid:
    """The inverse of `paid_json`."""
    measured = data["measured"]
    return Paid(data["reward"], None if measured is None else Measured(**measured), data["share"], data["reason"])


READERS: Mapping[str, Callable[[Any], Any]] = {"challenge": Challenge.from_json, "attempt": attempt_of, "paid": paid_of}
"""Last part of a slot's key -> what reads its record."""


def read(reader: Callable[[Any], T], key: str, value: Any) -> T:
    """Reads a record.

    Raises:
        StoreCorrupt: It is none of this kind; the message names its key.
    """
    try:
        return reader(value)
    except (BadInput, KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreCorrupt(f"record {key!r} is none of a run of SESA: {type(error).__name__}: {error}") from error
