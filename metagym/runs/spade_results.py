"""Reads the run folder of SPADE: slots round by round, curriculum statistics, what each program came to."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from metagym import stats
from metagym.episodes import Usage
from metagym.errors import RunError, StoreCorrupt
from metagym.runs.folder import RunFolder
from metagym.spade.curriculum import statistics, usages
from metagym.spade.samplers import histogram
from metagym.spade.slots import Design, Paid, Played, Slot, read
from metagym.stats import Estimate

_KEY = re.compile(r"round/(?P<round>\d+)/(?:slot/(?P<slot>\d+)/(?P<kind>design|plays|reward)|summary)|end")


@dataclass(frozen=True)
class Environment:
    """A program of a run with everything that happened to it.

    Attributes:
        design: How it came about, first.
        plays: Its plays, oldest first; those of its regenerations come with a hint.
        paid: What its designer was paid, at each regeneration that wrote it.
    """

    design: Design
    plays: tuple[Played, ...]
    paid: tuple[Paid, ...]

    @property
    def digest(self) -> str:
        """Of its source."""
        return self.design.program.digest

    @property
    def first(self) -> Played | None:
        """The plays that it was paid for; None before they were made."""
        return self.plays[0] if self.plays else None

    @property
    def reward(self) -> float | None:
        """What it was paid for, or would have been as its slot's first attempt; None where it is unscored."""
        if not self.paid:
            return None
        paid = self.paid[0]
        return (paid.breakdown if paid.program is None else paid.program).total


@dataclass(frozen=True)
class RoundPoint:
    """The figures of a round, over its programs.

    Attributes:
        round: Its number.
        fresh: Whether its programs were new.
        plain: Mean win rate without the hint.
        hinted: Mean win rate with it.
        regret: Mean regret.
        oracle_steps: Mean steps of the reference solutions; None where no program was accepted.
        designed: Slots, and of them those with an accepted program.
        reward: Mean reward of the designer.
    """

    round: int
    fresh: bool
    plain: Estimate
    hinted: Estimate
    regret: Estimate
    oracle_steps: float | None
    designed: tuple[int, int]
    reward: float | None


@dataclass(frozen=True)
class SpadeResults:
    """Everything that a run folder of SPADE says.

    Attributes:
        manifest: What was run.
        rounds: The slots, round by round; the last round may be incomplete.
        summaries: The summary of each finished round, by its number.
        ended: Whether the run came to its end.
        seconds: Wall-clock seconds by key, where they were kept.
        retries: Model requests that had to be made again.
    """

    manifest: Mapping[str, Any]
    rounds: tuple[tuple[Slot, ...], ...]
    summaries: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    ended: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict)
    retries: int = 0

    @property
    def slots(self) -> list[Slot]:
        """All slots in the order of the records."""
        return [slot for round in self.rounds for slot in round]

    @cached_property
    def statistics(self) -> dict[str, Any]:
        """Curriculum statistics of the whole run."""
        corpus = _part(_part(self.manifest, "versions"), "corpus")
        rule = str(_part(self.manifest, "config").get("advantage", "center"))
        return statistics(self.slots, rule, corpus.get("documents"))

    @cached_property
    def points(self) -> tuple[RoundPoint, ...]:
        """One per round."""
        return tuple(_point(number, slots) for number, slots in enumerate(self.rounds) if slots)

    @cached_property
    def environments(self) -> tuple[Environment, ...]:
        """Every accepted program once, in the order in which they were first written."""
        found: dict[str, list[Slot]] = {}
        for slot in self.slots:
            if slot.design.ok and slot.design.last.report is not None:
                found.setdefault(slot.design.last.report.digest, []).append(slot)
        return tuple(
            Environment(
                slots[0].design,
                tuple(slot.played for slot in slots if slot.played is not None),
                tuple(slot.paid for slot in slots if slot.paid is not None),
            )
            for slots in found.values()
        )

    @cached_property
    def shown(self) -> dict[str, int]:
        """How often each program was shown to the designer as an example, good or bad; the most frequent first."""
        designs = [slot.design for slot in self.slots if slot.paid is not None]
        return histogram([*one.shown.get("positives", []), *one.shown.get("negatives", [])] for one in designs)

    @property
    def usage(self) -> dict[str, Usage]:
        """Calls, tokens and cost by role; a reply read from the cache counts as when it was paid."""
        return usages(self.slots)

    @property
    def backends(self) -> dict[str, tuple[str, ...]]:
        """Kinds of model by role: scripted, local, server, or pool."""
        designer = {slot.design.backend for slot in self.slots}
        agent = {slot.played.backend for slot in self.slots if slot.played is not None}
        return {"designer": tuple(sorted(designer)), "agent": tuple(sorted(agent))}

    @cached_property
    def failures(self) -> Counter[str]:
        """Failed plays by kind."""
        every = (one.failure for slot in self.slots if slot.played is not None for one in slot.played.outcomes)
        return Counter(kind for kind in every if kind is not None)

    @property
    def plays(self) -> int:
        """Plays in both arms."""
        return sum(len(slot.played.outcomes) for slot in self.slots if slot.played is not None)

    @property
    def steps(self) -> int:
        """Turns of all plays."""
        return sum(one.steps for slot in self.slots if slot.played is not None for one in slot.played.outcomes)


def is_spade(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest is of a run of SPADE."""
    return str(manifest.get("command", "")).startswith("spade ")


def load_spade(run: RunFolder | str | os.PathLike[str]) -> SpadeResults:
    """Reads a run folder of SPADE.

    Raises:
        RunError: It is no run, or one of another system.
        StoreCorrupt: A record is damaged or is none of a run; the message names its key.
        StoreError: It cannot be read.
    """
    if isinstance(run, RunFolder):
        return _load(run)
    with RunFolder.open(run) as folder:
        return _load(folder)


def _load(folder: RunFolder) -> SpadeResults:
    if not is_spade(folder.manifest):
        raise RunError(f"{folder.path} is a run of {folder.manifest.get('command', 'something else')!r}, not of SPADE")
    designs: dict[tuple[int, int], Design] = {}
    plays: dict[tuple[int, int], Played] = {}
    paid: dict[tuple[int, int], Paid] = {}
    summaries: dict[int, Mapping[str, Any]] = {}
    ended = False
    for key, value in folder.records.records():
        place = _KEY.fullmatch(key)
        if place is None:
            continue  # a kind of record that a later version added
        if key == "end":
            ended = True
        elif place["slot"] is None:
            summaries[int(place["round"])] = value
        else:
            where = int(place["round"]), int(place["slot"])
            if place["kind"] == "design":
                designs[where] = read(Design, key, value)
            elif place["kind"] == "plays":
                plays[where] = read(Played, key, value)
            else:
                paid[where] = read(Paid, key, value)
    last = max((*(round for round, _ in (*designs, *plays)), *summaries), default=-1)
    rounds = _rounds(folder, last, designs, plays, paid)
    aside = {} if folder.timing is None else dict(folder.timing.records())
    seconds = {key: value for key, value in aside.items() if isinstance(value, (int, float))}
    retries = sum(value.get("retries", 0) for value in aside.values() if isinstance(value, dict))
    return SpadeResults(folder.manifest, rounds, summaries, ended, seconds, retries)


def _rounds(
    folder: RunFolder,
    last: int,
    designs: Mapping[tuple[int, int], Design],
    plays: Mapping[tuple[int, int], Played],
    paid: Mapping[tuple[int, int], Paid],
) -> tuple[tuple[Slot, ...], ...]:
    interval = _part(folder.manifest, "config").get("interval", 1)
    if not isinstance(interval, int) or interval < 1:
        raise StoreCorrupt(f"{folder.path}: config.interval of the manifest is {interval!r:.40}")
    rounds: list[tuple[Slot, ...]] = []
    for number in range(last + 1):
        epoch = number - number % interval
        batch = [design for (round, _), design in sorted(designs.items(), key=lambda item: item[0]) if round == epoch]
        rounds.append(
            tuple(
                Slot(
                    design,
                    plays.get((number, design.slot)),
                    paid.get((number, design.slot)) if number == epoch else None,
                )
                for design in batch
            )
        )
    return tuple(rounds)


def _point(number: int, slots: tuple[Slot, ...]) -> RoundPoint:
    found = [slot.played.estimate for slot in slots if slot.played is not None and not slot.played.estimate.invalidated]
    fresh = any(slot.design.round == number for slot in slots)
    steps = [
        slot.design.last.report.metrics["oracle_steps"]
        for slot in slots
        if slot.design.ok and slot.design.last.report is not None and "oracle_steps" in slot.design.last.report.metrics
    ]
    rewards = [slot.paid.breakdown.total for slot in slots if slot.paid is not None]
    known = [reward for reward in rewards if reward is not None]
    return RoundPoint(
        number,
        fresh,
        stats.mean([one.plain.win_rate for one in found if one.plain.win_rate is not None]),
        stats.mean([one.hinted.win_rate for one in found if one.hinted.win_rate is not None]),
        stats.mean([one.regret.value for one in found if one.regret.value is not None]),
        math.fsum(steps) / len(steps) if steps else None,
        (len(slots), sum(slot.design.ok for slot in slots)),
        math.fsum(known) / len(known) if known else None,
    )


def _part(mapping: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = mapping.get(name)
    return value if isinstance(value, Mapping) else {}
