"""The loop of SPADE: design, validate, play both arms, pay, remember; round after round.

Everything that happens becomes a record with a unique key, in an order that does not depend on timing. A step whose
record exists is read, not done again: a resumed run therefore ends with the records of an uninterrupted one, whatever
the number of workers.

    round/<r>/slot/<s>/design    the attempts of a slot with their verdicts (at regenerations)
    round/<r>/slot/<s>/plays     hint, outcomes and regret
    round/<r>/slot/<s>/reward    what the designer is paid (at regenerations)
    round/<r>/summary            advantages, curriculum statistics, the state of the memory
    end
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from metagym.checks import whole
from metagym.errors import BadInput, TooManyFailures
from metagym.playing.remote import replayed
from metagym.spade.config import SpadeConfig
from metagym.spade.curriculum import designer_advantages, memory_state, statistics
from metagym.spade.estimates import RegretEstimate
from metagym.spade.fingerprint import AstFingerprint
from metagym.spade.memory import EnvMemory, MemorySnapshot
from metagym.spade.memory_store import RamStore
from metagym.spade.records import Plays
from metagym.spade.seating import Seats
from metagym.spade.slots import Design, Paid, Played, Slot, read
from metagym.spade.validation import ValidationSettings
from metagym.spade.validation.novelty import check_novelty
from metagym.spade.validation.report import CODES, Refusal
from metagym.spade.workshop import Workshop, record_of

SLOW = 0.98
"""Weight of the past in the slow average of the win rate that ``learning_potential`` compares with (SPADE: 0.98)."""


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


@runtime_checkable
class LearnsDesign(Protocol):
    """A designer that takes in what it was paid: the scripted bandit. Models are trained by a trainer."""

    def learn(self, lessons: Sequence[tuple[str, float]]) -> None:
        """Takes in sources and rewards of a regeneration."""
        ...


@runtime_checkable
class LearnsPlay(Protocol):
    """An agent that gets better with its plays: the scripted learner."""

    def practise(self, plays: int) -> None:
        """Takes in how many plays without a hint it has made so far."""
        ...


@dataclass(frozen=True)
class Event:
    """Something worth showing while a run goes on.

    Attributes:
        kind: ``design``, ``plays``, ``reward`` (a slot is done, worked on or read), ``round`` (all of a round is).
        round: The round.
        slot: The slot; -1 for a round.
        value: The record: `Design`, `Played`, `Paid`, or the summary as JSON.
        seconds: Wall-clock time of the work; 0.0 where it was read from the records.
        key: Of the record.
        rounds: Rounds of the whole run.
    """

    kind: str
    round: int
    slot: int
    value: Any
    seconds: float
    key: str
    rounds: int = 0


class Loop:
    """One run.

    Args:
        workshop: Does the work on each slot.
        records: Where the records are; by default nowhere but in memory.
        memory: The environment memory, open for writing; by default one without a file.
        workers: Slots that are worked on at a time; does not change the records.
        on_event: Told of everything that happens, in the order of the records.
    """

    def __init__(
        self,
        workshop: Workshop,
        records: Records | None = None,
        memory: EnvMemory | None = None,
        *,
        workers: int = 2,
        on_event: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self.workshop, self.config = workshop, workshop.config
        self.records = RamStore() if records is None else records
        self.memory = EnvMemory.in_memory(self.config.memory_settings) if memory is None else memory
        self.on_event = on_event
        self.slots: list[list[Slot]] = []
        """What happened, round by round."""
        self._gate = asyncio.Semaphore(whole("workers", workers, 1))
        self._workers = workers
        self._practised = 0
        self._baseline: float | None = None

    async def run(self) -> list[list[Slot]]:
        """Runs to the end and returns what happened, round by round."""
        batch: list[Design] = []
        self._practise()
        for round in range(self.config.rounds):
            fresh = round % self.config.interval == 0
            before = self.memory.snapshot(before=round)
            if fresh:
                batch = await self._designs(round, before)
            played = await self._plays(round, batch, fresh)
            paid = self._pay(round, batch, played, before) if fresh else [None] * len(batch)
            self.slots.append([Slot(*parts) for parts in zip(batch, played, paid, strict=True)])
            remember(self.memory, round, self.slots[-1], before)
            self._summary(round, self.slots[-1], before)
            self._learn(self.slots[-1])
        self.records.append_many([("end", {"kind": "end", "rounds": self.config.rounds})])
        return self.slots

    # --- the phases of a round

    async def _designs(self, round: int, before: MemorySnapshot) -> list[Design]:
        """The programs of a regeneration; of two alike in one batch the later is refused."""
        epoch = round // self.config.interval
        known: list[AstFingerprint] = []

        def settle(slot: int, made: Design) -> Design:
            return _unlike(made, known, self.config.validation)

        async def work(slot: int) -> Design:
            return await self.workshop.design(round, epoch, slot, before)

        return await self._phase("design", round, range(self.config.programs), Design, work, settle, at_once=True)

    async def _plays(self, round: int, batch: Sequence[Design], fresh: bool) -> list[Played | None]:
        slots = [slot for slot, design in enumerate(batch) if design.ok]

        async def work(slot: int) -> Played:
            # A program whose worker is lost with its node is played anew: its plays are one record.
            return await replayed(lambda: self.workshop.play(round, slot, batch[slot].program, hinted=fresh))

        found = await self._phase("plays", round, slots, Played, work)
        by_slot = dict(zip(slots, found, strict=True))
        return [by_slot.get(slot) for slot in range(len(batch))]

    def _pay(
        self, round: int, batch: Sequence[Design], played: Sequence[Played | None], before: MemorySnapshot
    ) -> list[Paid]:
        made: list[Paid] = []
        items = []
        for slot, (design, plays) in enumerate(zip(batch, played, strict=True)):
            key = f"round/{round}/slot/{slot}/reward"
            if key in self.records:
                made.append(read(Paid, key, self.records.get(key)))
            else:
                made.append(self.workshop.pay(design, plays, before, batch, self._baseline))
            items.append((key, made[-1].to_json()))
        self.records.append_many(items)
        for (key, _), one in zip(items, made, strict=True):
            self.on_event(Event("reward", round, one.slot, one, 0.0, key, self.config.rounds))
        return made

    async def _phase(
        self,
        kind: str,
        round: int,
        slots: Iterable[int],
        form: type[Any],
        work: Callable[[int], Awaitable[Any]],
        settle: Callable[[int, Any], Any] = lambda slot, value: value,
        at_once: bool = False,
    ) -> list[Any]:
        """Reads or does the work of some slots, many at a time, and records it in the order of the slots.

        Args:
            kind: Last part of the keys.
            round: The round.
            slots: The slots.
            form: Class of the records.
            work: Does a slot.
            settle: Looks at what was done, in the order of the slots, before it is recorded.
            at_once: Record all slots together at the end, instead of each as soon as those before it are done.
        """
        wanted = list(slots)
        done: dict[int, tuple[Any, float]] = {}
        made: list[Any] = []
        pending: list[tuple[str, Any]] = []
        events: list[Event] = []

        def flush() -> None:
            while len(made) < len(wanted) and wanted[len(made)] in done:
                slot = wanted[len(made)]
                value, seconds = done[slot]
                key = f"round/{round}/slot/{slot}/{kind}"
                made.append(settle(slot, value))
                pending.append((key, made[-1].to_json()))
                events.append(Event(kind, round, slot, made[-1], seconds, key, self.config.rounds))
            if not at_once or len(made) == len(wanted):
                if at_once:
                    self._check(made)
                self.records.append_many(pending)
                for event in events:
                    self.on_event(event)
                pending.clear()
                events.clear()

        async def one(slot: int) -> None:
            key = f"round/{round}/slot/{slot}/{kind}"
            if key in self.records:
                done[slot] = read(form, key, self.records.get(key)), 0.0
            else:
                async with self._gate:
                    started = time.perf_counter()
                    done[slot] = await work(slot), time.perf_counter() - started
            flush()

        # Where one slot ends the run, the others first get the replies they wait for: those are paid.
        ended = await asyncio.gather(*map(one, wanted), return_exceptions=True)
        for result in ended:
            if isinstance(result, BaseException):
                raise result
        return made

    def _check(self, designs: Sequence[Any]) -> None:
        failed = [design for design in designs if design.first.outcome == "error"]
        if len(failed) > self.config.max_failures * len(designs):
            raise TooManyFailures(
                f"{len(failed)} of {len(designs)} calls of the designer failed (allowed: "
                f"{self.config.max_failures:.0%}); the first: {failed[0].first.cause}; then resume"
            )

    # --- after a round

    def _summary(self, round: int, slots: Sequence[Slot], before: MemorySnapshot) -> None:
        after = self.memory.snapshot(before=round + 1)
        documents = self.workshop.documents
        summary = {
            "kind": "summary",
            "round": round,
            "fresh": round % self.config.interval == 0,
            "advantages": designer_advantages(slots, self.config.advantage),
            "statistics": statistics(
                slots, self.config.advantage, None if documents is None else len(documents.source)
            ),
            "memory": {
                **memory_state(
                    {view.digest: view.live for view in before.all_views},
                    {view.digest: view.live for view in after.all_views},
                ),
                "digest": after.digest,
            },
        }
        key = f"round/{round}/summary"
        self.records.append_many([(key, summary)])
        self.on_event(Event("round", round, -1, summary, 0.0, key, self.config.rounds))

    def _learn(self, slots: Sequence[Slot]) -> None:
        """Stand-ins learn from what was recorded, so that a resumed run finds them as an uninterrupted one."""
        rates = [rate for slot in slots if slot.played is not None if (rate := _rate(slot.played.estimate)) is not None]
        for rate in rates:
            self._baseline = rate if self._baseline is None else SLOW * self._baseline + (1 - SLOW) * rate
        self._practised += sum(slot.played.plain_plays for slot in slots if slot.played is not None)
        self._practise()
        designer = self.workshop.seats.designer
        if self.config.designer_training and isinstance(designer, LearnsDesign):
            lessons = [
                (slot.design.first.source, paid)
                for slot in slots
                if slot.paid is not None and (paid := slot.paid.breakdown.trained) is not None
            ]
            designer.learn(lessons)

    def _practise(self) -> None:
        agent = self.workshop.seats.agent
        if isinstance(agent, LearnsPlay):
            agent.practise(self._practised)


def remember(memory: EnvMemory, round: int, slots: Sequence[Slot], before: MemorySnapshot) -> None:
    """Programs enter the memory with the plays of their regeneration; whatever is played later is added to them.

    Doing it twice changes nothing: see `EnvMemory`.

    Args:
        memory: Open for writing.
        round: The round.
        slots: What happened in it.
        before: The memory when the round began.
    """
    known = {view.digest for view in before.views}
    for slot in slots:
        if slot.played is None or slot.played.estimate.invalidated or slot.played.killed:
            continue
        plays = Plays.of(slot.played.estimate, round, slot.played.slot)
        if slot.paid is None or slot.played.digest in known:
            memory.record_plays(slot.played.digest, plays)
            continue
        known.add(slot.played.digest)
        record = record_of(slot.design)
        try:
            memory.add(record, plays)
        except BadInput:  # a header that makes a program its own ancestor is no reason to lose it
            memory.add(replace(record, parents=()), plays)


def without_copies(designs: Sequence[Design], settings: ValidationSettings) -> list[Design]:
    """The designs of a batch, of which the later of two alike is refused; pools and refused designs pass.

    Args:
        designs: In the order of their slots.
        settings: Whether programs are compared, and how much may be alike.
    """
    known: list[AstFingerprint] = []
    return [_unlike(design, known, settings) for design in designs]


def _unlike(made: Design, known: list[AstFingerprint], settings: ValidationSettings) -> Design:
    report = made.last.report
    if not made.ok or report is None or report.fingerprint is None or made.last.outcome == "pool":
        return made
    if settings.novelty:
        try:
            check_novelty(report.fingerprint, known, settings)
        except Refusal as refusal:
            code, line = refusal.code, refusal.line
            return made.refused(
                replace(report, ok=False, code=code, stage=CODES[code], detail=refusal.detail, line=line)
            )
    known.append(report.fingerprint)
    return made


def _rate(estimate: RegretEstimate) -> float | None:
    return None if estimate.invalidated else estimate.plain.win_rate


async def run_loop(config: SpadeConfig, records: Records | None = None, **options: Any) -> list[list[Slot]]:
    """A whole run with seats of its own, for code that wants no folder.

    Args:
        config: The settings.
        records: As for `Loop`.
        **options: ``pools`` and ``cache`` of `Workshop`; ``memory``, ``workers`` and ``on_event`` of `Loop`.
    """
    seats = Seats.of(config)
    own = {name: options.pop(name) for name in ("pools", "cache") if name in options}
    try:
        return await Loop(Workshop(config, seats, **own), records, **options).run()
    finally:
        await seats.close()
