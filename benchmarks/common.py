"""What the benchmarks share: one form of figure, medians with their spread, a quiet garbage collector, the machine."""

from __future__ import annotations

import gc
import math
import os
import platform
import statistics
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured figure: a line of the table.

    Attributes:
        name: What was measured.
        value: The median over the repeats.
        unit: ``ms``, ``us``, ``x``, ...
        low: The lower quartile of the repeats, the smallest of fewer than four; or the lower end of an interval.
        high: The upper quartile, the largest, or the upper end.
        repeats: How many values there were.
        bound: What the median is held against, e.g. ``<= 15``; "" for a figure that is only told.
        holds: Whether it keeps to the bound; None without one.
        note: Anything the reader should know.
    """

    name: str
    value: float
    unit: str
    low: float
    high: float
    repeats: int
    bound: str = ""
    holds: bool | None = None
    note: str = ""

    def row(self) -> str:
        """The figure as a line of a Markdown table."""
        verdict = "" if self.holds is None else f"{self.bound}: {'holds' if self.holds else '**fails**'}"
        around = f"{number(self.low)} - {number(self.high)} ({self.repeats})" if self.repeats > 1 else ""
        return f"| {self.name} | {number(self.value)} {self.unit} | {around} | {verdict} | {self.note} |"


@dataclass(frozen=True)
class Report:
    """What one benchmark found.

    Attributes:
        name: As in ``python -m benchmarks --only <name>``.
        title: One line on what was measured.
        figures: The lines of its table.
        details: Raw values and settings (JSON), for the file alone.
    """

    name: str
    title: str
    figures: Sequence[Figure]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether every bound is kept."""
        return all(figure.holds is not False for figure in self.figures)

    def table(self) -> str:
        """The figures as a Markdown table."""
        head = "| figure | value | spread (repeats) | bound | |\n|---|---|---|---|---|"
        return "\n".join([head, *(figure.row() for figure in self.figures)])

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Report:
        """The inverse of `to_json`."""
        figures = [Figure(**figure) for figure in data["figures"]]
        return cls(data["name"], data["title"], figures, data["details"])


def number(value: float) -> str:
    """Three significant digits, and never an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def told(name: str, values: Sequence[float], unit: str, note: str = "") -> Figure:
    """The median of `values` with its spread, held against nothing."""
    low, high = min(values), max(values)
    if len(values) >= 4:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return Figure(name, statistics.median(values), unit, low, high, len(values), note=note)


def at_most(bound: float, name: str, values: Sequence[float], unit: str, note: str = "") -> Figure:
    """A figure whose median may be at most `bound`."""
    figure = told(name, values, unit, note)
    return replace(figure, bound=f"<= {bound:g}", holds=figure.value <= bound)


def at_least(bound: float, name: str, values: Sequence[float], unit: str, note: str = "") -> Figure:
    """A figure whose median must be at least `bound`."""
    figure = told(name, values, unit, note)
    return replace(figure, bound=f">= {bound:g}", holds=figure.value >= bound)


def ratios(numerators: Iterable[float], denominators: Iterable[float]) -> list[float]:
    """Ratios pair by pair: what the machine did meanwhile hit both numbers of a pair alike."""
    return [top / bottom for top, bottom in zip(numerators, denominators, strict=True)]


@contextmanager
def settled() -> Iterator[None]:
    """Starts with no garbage and keeps what exists already out of the collector's sight.

    The collector itself stays on: what it costs to collect our own objects is part of our cost.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def machine() -> dict[str, Any]:
    """Where the figures come from: processor, cores, load (runnable processes, last minute), Python, system."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
    }


def machine_line(facts: dict[str, Any]) -> str:
    """`machine` in words."""
    load = "" if facts["load"] is None else f", load {facts['load']:g} at the start"
    return f"{facts['cpu']}, {facts['cores']} cores{load}, Python {facts['python']}, {facts['system']}"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
