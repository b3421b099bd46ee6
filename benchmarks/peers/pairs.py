"""Arms of one comparison, played by turns, and what came of them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.common import Figure, number, ratios, settled
from metagym import stats

UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6}

Result = tuple[Any, ...]
"""What one task came to, plain and comparable: its reward, success, number of steps, perhaps its texts."""

Arm = Callable[[], Sequence[Result]]
"""Plays all tasks once; gives one result per task, in task order."""


class Unequal(AssertionError):
    """Two arms came to different results, so that their times say nothing about each other."""


@dataclass(frozen=True)
class Line:
    """One comparison between two arms.

    Attributes:
        name: What is compared, as the tables tell it: ``peer: its arm``.
        ours: Name of our arm.
        theirs: Name of the peer's arm.
        note: What either side does that the other does not.
        lead: Whether it stands in the README's short table too.
    """

    name: str
    ours: str
    theirs: str
    note: str = ""
    lead: bool = False


@dataclass(frozen=True)
class Contest:
    """The times of several arms on the same work.

    Attributes:
        title: What was played, in words.
        count: Units of work in one repetition (steps, episodes, programs).
        unit: Name of such a unit.
        scale: In which unit of time its cost is told: ``s``, ``ms`` or ``us``.
        seconds: Wall-clock time of each repetition, by arm.
        lines: What is compared.
        equal: What was found equal in all arms and repetitions, in words.
        tasks: How many tasks were played.
        distinct: How many different results there were among them: one alone would prove little.
    """

    title: str
    count: int
    unit: str
    scale: str
    seconds: Mapping[str, Sequence[float]]
    lines: Sequence[Line]
    equal: str
    tasks: int
    distinct: int

    def figures(self) -> list[Figure]:
        """The ratios with their intervals; beside them what a unit of work took either side."""
        return [self._ratio(line) for line in self.lines]

    def _ratio(self, line: Line) -> Figure:
        """The peer's time over ours: median of the pairs with its 95 % interval, their extremes if they are too few."""
        values = ratios(self.seconds[line.theirs], self.seconds[line.ours])
        estimate = stats.median(values)
        assert estimate.value is not None
        low = min(values) if estimate.low is None else estimate.low
        high = max(values) if estimate.high is None else estimate.high
        factor = UNITS[self.scale] / self.count
        ours, theirs = (number(statistics.median(self.seconds[arm]) * factor) for arm in (line.ours, line.theirs))
        costs = f"{theirs} against {ours} {self.scale}/{self.unit}"
        note = f"{costs}; {line.note}" if line.note else costs
        return Figure(line.name, estimate.value, "x", low, high, len(values), note=note)

    def sameness(self) -> str:
        """What was compared before a ratio was made, in a sentence."""
        return (
            f"{self.title}: {self.equal} are equal in all arms and repetitions ({self.tasks} tasks, "
            f"{self.distinct} different results)."
        )

    def to_json(self) -> dict[str, Any]:
        """The contest as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Contest:
        """The inverse of `to_json`."""
        return cls(**{**data, "lines": [Line(**line) for line in data["lines"]]})


@dataclass
class _Played:
    seconds: list[float] = field(default_factory=list)
    results: list[Sequence[Result]] = field(default_factory=list)


def contest(
    title: str,
    arms: Mapping[str, Arm],
    lines: Sequence[Line],
    *,
    repeats: int,
    count: Callable[[Sequence[Result]], int],
    unit: str,
    scale: str,
    equal: str,
    warm: bool = True,
) -> Contest:
    """Plays the arms by turns, each first once unmeasured, and demands equal results of all.

    The order within a round turns with each round, so that no arm always has the caches that another one left.

    Args:
        title: See `Contest`.
        arms: What is played, by name.
        lines: See `Contest`.
        repeats: Measured rounds.
        count: From the results of an arm to the units of work in them.
        unit: See `Contest`.
        scale: See `Contest`.
        equal: See `Contest`.
        warm: Whether each arm is played once before, for imports and caches.

    Raises:
        Unequal: Two arms, or two repetitions, came to different results.
    """
    names = list(arms)
    played = {name: _Played() for name in names}
    if warm:
        for name in names:
            played[name].results.append(arms[name]())
    for round_ in range(repeats):
        shift = round_ % len(names)
        for name in [*names[shift:], *names[:shift]]:
            with settled():
                started = time.perf_counter()
                results = arms[name]()
                played[name].seconds.append(time.perf_counter() - started)
            played[name].results.append(results)
    expected = played[names[0]].results[0]
    for name in names:
        for results in played[name].results:
            _same(title, names[0], expected, name, results)
    seconds = {name: run.seconds for name, run in played.items()}
    assert all(math.isfinite(value) and value > 0 for values in seconds.values() for value in values)
    different = len(set(expected))
    return Contest(title, count(expected), unit, scale, seconds, lines, equal, len(expected), different)


def _same(title: str, one: str, expected: Sequence[Result], other: str, found: Sequence[Result]) -> None:
    if len(expected) != len(found):
        raise Unequal(f"{title}: {one} gave {len(expected)} results and {other} {len(found)}: no ratio is made of that")
    for place, (left, right) in enumerate(zip(expected, found, strict=True)):
        if left != right:
            raise Unequal(f"{title}: task {place} came to {left!r} in {one} and to {right!r} in {other}: no ratio")
