"""Writes the episodes of an evaluation: in the order of the tasks, whatever the order in which they end."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Protocol

from metagym.episodes import Episode
from metagym.errors import TooManyFailures

MAX_RUN = 50
"""So many failed episodes in a row, in the order of the tasks, stop a run: a server is down, or an engine is broken."""

CARD_DIGITS = 16
"""Digits of the card's digest that every record carries."""

_FLUSH = 16  # episodes written at once; the disk is asked to keep them each time
_FLUSH_SECONDS = 2.0


class Records(Protocol):
    """Where records go: a `metagym.journal.Journal`, or anything with these methods."""

    def get(self, key: str, default: Any = None) -> Any:
        """The record of a key."""
        ...

    def append_many(self, items: Iterable[tuple[str, Any]]) -> Any:
        """Stores records; they are durable when it returns."""
        ...

    def __contains__(self, key: object) -> bool:
        """Whether the key has a record."""
        ...


def episode_key(entrant: str, benchmark: str, task_key: str, sample: int) -> str:
    """The key of an episode's record."""
    return f"eval/{entrant}/{benchmark}/{task_key}/{sample}"


def split_key(key: str) -> tuple[str, str, str, int] | None:
    """Entrant, benchmark, task key and sample of an episode's key; None for other keys."""
    parts = key.split("/", 3)
    if len(parts) != 4 or parts[0] != "eval":
        return None
    task_key, _, sample = parts[3].rpartition("/")
    return (parts[1], parts[2], task_key, int(sample)) if task_key and sample.isascii() and sample.isdigit() else None


class Writer:
    """Writes episodes in the order of the tasks, and holds failures back until it is clear that they are single ones.

    A record is never changed, so a server that was down for an hour must not fill a run with failures: those at the end
    of what came in are written only after an episode that did not fail, or at the end of the benchmark.
    """

    def __init__(
        self, records: Records, entrant: str, benchmark: str, card: str, total: int, failed: int, max_failures: float
    ) -> None:
        """Starts with one entrant on one benchmark.

        Args:
            records: Where the records are.
            entrant: Whose episodes.
            benchmark: Of which benchmark.
            card: First digits of its card's digest.
            total: Episodes of the benchmark.
            failed: Failed ones among those that have a record.
            max_failures: Largest share of `total` that may fail.
        """
        self.records, self.entrant, self.benchmark, self.card = records, entrant, benchmark, card
        self.total, self.failed, self.max_failures = total, failed, max_failures
        self.names: list[tuple[str, int]] = []
        self.here: dict[int, Episode] = {}
        self.next = 0
        self.ready: list[tuple[str, Any]] = []
        self.held: list[tuple[str, Any]] = []
        self.cause = ""
        self.flushed = time.monotonic()

    def begin(self, names: list[tuple[str, int]]) -> None:
        """A batch begins; its task keys and samples, in order."""
        self.names, self.here, self.next = names, {}, 0

    def take(self, place: int, episode: Episode) -> None:
        """Takes an episode of the batch by its place; they may come in any order."""
        self.here[place] = episode
        while self.next in self.here:
            self._line(self.here.pop(self.next))
            self.next += 1
        if len(self.ready) >= _FLUSH or time.monotonic() - self.flushed > _FLUSH_SECONDS:
            self.flush()

    def _line(self, episode: Episode) -> None:
        task_key, sample = self.names[self.next]
        told = {"entrant": self.entrant, "benchmark": self.benchmark, "sample": sample, "card": self.card}
        key = episode_key(self.entrant, self.benchmark, task_key, sample)
        item = (key, {"kind": "episode", **told, "episode": episode.to_json()})
        if episode.scored:
            if len(self.held) < MAX_RUN:  # else the run stops, and they are played again
                self.ready += [*self.held, item]
                self.held = []
        else:
            self.failed += 1
            self.cause = self.cause or f"task {task_key}: {episode.cause}"
            self.held.append(item)

    def flush(self) -> None:
        """Writes what is sure."""
        if self.ready:
            self.records.append_many(self.ready)
            self.ready = []
        self.flushed = time.monotonic()

    def check(self) -> None:
        """Stops a run that fails.

        Raises:
            TooManyFailures: More failed than may, or too many in a row.
        """
        told = f"{self.benchmark}, {self.entrant}: {self.failed} of {self.total} episodes failed"
        if self.failed > self.max_failures * self.total:
            raise TooManyFailures(f"{told} (allowed: {self.max_failures:.0%}); the first: {self.cause}")
        if len(self.held) >= MAX_RUN:
            raise TooManyFailures(f"{told}, {MAX_RUN} in a row; the first: {self.cause}")

    def finish(self) -> None:
        """The benchmark is played: what failed at its end has failed."""
        self.ready += self.held
        self.held = []
        self.flush()
