"""The papers' tables: systems down the side, benchmarks along the top, all figures with intervals.

    table = papers_table(["runs/base", "runs/trained"], baseline="base")
    print(as_markdown(table))                   # see `metagym.runs.papers_formats`

What is in one column must be alike (`metagym.evaluation.card`): a table over other tasks, turns, scorers or corpora is
refused and the differing field named. Runs of one system with other seeds are further samples of the same tasks. A
partial result has no figure, only a count of what it lacks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from metagym.episodes import Episode
from metagym.errors import BadInput, RunError
from metagym.evaluation.card import refuse_unlike
from metagym.evaluation.measures import Measures, measure
from metagym.evaluation.pairs import Contrast, contrast
from metagym.runs.entries import Entry, read_entries
from metagym.runs.papers_measures import Shower, check_measured, shower
from metagym.sesa.scores import macro_mean
from metagym.stats import Estimate
from metagym.tasks import Task

MEAN = "mean"


@dataclass(frozen=True)
class Column:
    """A benchmark.

    Attributes:
        suite: What it is reported with.
        name: Its name; "" for the mean over the suite.
        title: As tables call it.
        tasks: Number of its tasks.
        samples: Episodes per task of one run.
    """

    suite: str
    name: str
    title: str
    tasks: int
    samples: int


@dataclass(frozen=True)
class Cell:
    """One system on one benchmark.

    Attributes:
        value: The figure; None where the run is partial or the system was not measured on it.
        missing: Episodes without a record.
        contrast: Against the baseline; None for the baseline itself, and where one of the two has no figure.
        measures: Everything that was measured; None for means and where nothing was.
        runs: Names of the run folders behind it.
    """

    value: Estimate | None = None
    missing: int = 0
    contrast: Contrast | None = None
    measures: Measures | None = None
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A system.

    Attributes:
        name: As the table calls it.
        backends: Kinds of model that played: scripted, local, server.
        cells: One per column.
    """

    name: str
    backends: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A paper's table.

    Attributes:
        measure: What is shown, e.g. ``avg`` or ``pass@8``.
        columns: Along the top; the mean of a suite follows its benchmarks.
        rows: Down the side.
        baseline: Name of the row that the others are compared with; None for none.
        runs: Names of the folders that were read.
        notes: What a reader must know before the figures are believed.
    """

    measure: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    baseline: str | None
    runs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites, in the order of the columns."""
        return tuple(dict.fromkeys(column.suite for column in self.columns))

    def best(self, column: int) -> frozenset[int]:
        """Numbers of the rows whose value is highest in a column, where values differ and more is better."""
        if self.measure.startswith("score:"):  # as of losses or errors: which way is good is not told
            return frozenset()
        values = [row.cells[column].value for row in self.rows]
        known = [one.value for one in values if one is not None and one.value is not None]
        if len(set(known)) < 2:
            return frozenset()
        return frozenset(n for n, one in enumerate(values) if one is not None and one.value == max(known))


def papers_table(
    runs: Sequence[str | os.PathLike[str]],
    *,
    measure: str = "avg",
    baseline: str | None = None,
    seed: int = 0,
) -> Table:
    """Makes a table of run folders.

    Args:
        runs: Folders of ``metagym eval``, ``metagym ict eval`` and ``metagym sesa eval``.
        measure: ``avg`` (avg@k), ``pass@K``, ``maj``, ``return``, or ``score:NAME`` for a further score.
        baseline: The system that the others are compared with; None takes the first.
        seed: Decides the bootstrap's resampling.

    Raises:
        RunError: A folder is none of an evaluation, or two results in a column are not alike; the message names the
            field.
        BadInput: Unknown measure or baseline, or one run twice.
        StoreError, StoreCorrupt: A folder cannot be read, or its records are damaged.
    """
    shows = shower(measure)
    if not runs:
        raise BadInput("a table needs at least one run folder of an evaluation")
    entries = [
        replace(entry, run=name) for run, name in zip(runs, run_names(runs), strict=True) for entry in read_entries(run)
    ]
    names = _row_names(entries)
    grid: dict[tuple[str, str], list[Entry]] = {}
    for entry, name in zip(entries, names, strict=True):
        grid.setdefault((name, _column(entry)), []).append(entry)
    systems, columns = tuple(dict.fromkeys(names)), tuple(dict.fromkeys(map(_column, entries)))
    if baseline is not None and baseline not in systems:
        raise BadInput(f"no system {baseline!r} in these runs; there are {', '.join(systems)}")
    against = (baseline or systems[0]) if len(systems) > 1 else None
    pooled = {place: _pool(found) for place, found in grid.items()}
    check_measured(measure, [one.measures for one in pooled.values()])
    for column in columns:
        _check_alike([one for (_, where), one in pooled.items() if where == column])
    heads = _heads(entries, columns)
    rows = []
    for system in systems:
        cells = []
        for column in columns:
            # What is paired is avg@k; other measures stand for themselves.
            paired = measure == "avg" and against not in (None, system)
            base = pooled.get((str(against), column)) if paired else None
            cells.append(_cell(pooled.get((system, column)), base, shows, seed))
        kinds = {kind for cell in cells if cell.measures for kind in cell.measures.backends}
        rows.append(Row(system, tuple(sorted(kinds)), tuple(cells)))
    table = Table(measure, heads, tuple(rows), against, tuple(dict.fromkeys(entry.run for entry in entries)))
    table = _with_means(table, pooled, systems, columns, seed) if measure == "avg" else table
    return replace(table, notes=_notes(table, entries))


def run_names(runs: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The folders' names, with as many of the folders above as tell folders of one name apart."""
    paths = [Path(run).resolve() for run in runs]
    found = []
    for path in paths:
        alike, depth = [one for one in dict.fromkeys(paths) if one != path and one.name == path.name], 1
        while any(one.parts[-depth:] == path.parts[-depth:] for one in alike):
            depth += 1
        found.append("/".join(path.parts[-depth:]))
    return found


@dataclass(frozen=True)
class _Pooled:
    """The runs of one system on one benchmark, taken together."""

    entries: tuple[Entry, ...]
    measures: Measures = field(repr=False)

    @property
    def first(self) -> Entry:
        return self.entries[0]

    @property
    def name(self) -> str:
        return self.first.name if len(self.entries) == 1 else f"{self.first.name} ({len(self.entries)} seeds)"

    @property
    def missing(self) -> int:
        return sum(entry.missing for entry in self.entries)

    @property
    def episodes(self) -> list[Episode]:
        return [episode for entry in self.entries for episode in entry.episodes]


def _pool(entries: Sequence[Entry]) -> _Pooled:
    first = entries[0]
    seeds: dict[int, str] = {}
    for entry in entries:
        _refuse_unlike(first, entry)
        if entry.seed in seeds:
            raise BadInput(
                f"{seeds[entry.seed]} and {entry.name} are of one system and one seed ({entry.seed}): their samples "
                "are the same ones and must not be counted twice; name one of the runs"
            )
        seeds[entry.seed] = entry.name
    played = [episode for entry in entries for episode in entry.episodes]
    tasks = _longest(entries)
    return _Pooled(tuple(entries), measure(tasks, first.samples * len(entries), played))


def _longest(entries: Iterable[Entry]) -> tuple[Task, ...]:
    """The tasks of alike results: one that was killed at its very start lacks their list."""
    return max((entry.tasks for entry in entries), key=len)


def _check_alike(found: Sequence[_Pooled]) -> None:
    for number, one in enumerate(found):
        for other in found[:number]:  # each with each: a stand-in's card, which has no sampling, fits any
            _refuse_unlike(other.first, one.first)
        if len(one.entries) != len(found[0].entries):
            # As many samples of a task on both sides: pass@k and maj@k depend on their number.
            raise RunError(
                f"{found[0].name} and {one.name} are not alike: they were run with {len(found[0].entries)} and "
                f"{len(one.entries)} seeds; name as many runs of each"
            )


def _refuse_unlike(a: Entry, b: Entry) -> None:
    try:
        refuse_unlike(a.card, b.card, a.name, b.name)
    except BadInput as error:
        raise RunError(str(error)) from error


def _row_names(entries: Sequence[Entry]) -> list[str]:
    """A name per entry: the system's, with the run's where two systems share it."""
    identities: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        known = identities.setdefault(entry.system, [])
        if entry.identity not in known:
            known.append(entry.identity)
    return [e.system if len(identities[e.system]) == 1 else f"{e.run}: {e.system}" for e in entries]


def _column(entry: Entry) -> str:
    return f"{entry.suite}/{entry.benchmark}"


def _heads(entries: Sequence[Entry], columns: Sequence[str]) -> tuple[Column, ...]:
    found: dict[str, list[Entry]] = {column: [] for column in columns}
    for entry in entries:
        found[_column(entry)].append(entry)
    return tuple(
        Column(own[0].suite, own[0].benchmark, own[0].title, len(_longest(own)), own[0].samples)
        for own in found.values()
    )


def _cell(own: _Pooled | None, base: _Pooled | None, shows: Shower, seed: int) -> Cell:
    if own is None:
        return Cell()
    runs = tuple(entry.run for entry in own.entries)
    if own.missing or not own.measures.tasks:
        return Cell(None, own.missing, None, own.measures, runs)
    compared = None if base is None or base.missing else _contrast(base, own, seed)
    return Cell(shows(own.measures), 0, compared, own.measures, runs)


def _contrast(base: _Pooled, own: _Pooled, seed: int) -> Contrast:
    return contrast(
        base.name, base.first.card, base.episodes, base.missing, own.name, own.first.card, own.episodes, 0, seed
    )


def _with_means(
    table: Table,
    pooled: Mapping[tuple[str, str], _Pooled],
    systems: Sequence[str],
    columns: Sequence[str],
    seed: int,
) -> Table:
    """A column with the mean over each suite of several benchmarks: every benchmark counts alike."""
    order: list[tuple[Column, list[int]]] = []
    for suite in table.suites:
        own = [n for n, head in enumerate(table.columns) if head.suite == suite]
        order += [(table.columns[n], [n]) for n in own]
        if len(own) > 1:
            tasks = sum(table.columns[n].tasks for n in own)
            order.append((Column(suite, "", MEAN, tasks, 0), own))
    rows = []
    for row, system in zip(table.rows, systems, strict=True):
        cells = [
            row.cells[numbers[0]]
            if head.name
            else _mean_cell([pooled.get((system, columns[n])) for n in numbers], [row.cells[n] for n in numbers], seed)
            for head, numbers in order
        ]
        rows.append(replace(row, cells=tuple(cells)))
    # A mean that no system has, as of games in which nobody meets itself, is no column.
    kept = [n for n, (head, _) in enumerate(order) if head.name or any(row.cells[n].value for row in rows)]
    return replace(
        table,
        columns=tuple(order[n][0] for n in kept),
        rows=tuple(replace(row, cells=tuple(row.cells[n] for n in kept)) for row in rows),
    )


def _mean_cell(found: Sequence[_Pooled | None], cells: Sequence[Cell], seed: int) -> Cell:
    """A mean over fewer benchmarks than the column's would not mean the same: it is left out."""
    groups: dict[str, list[float | None]] = {}
    for one, cell in zip(found, cells, strict=True):
        if one is None or cell.value is None or cell.value.value is None:
            return Cell()
        scores: dict[str, list[bool]] = {}
        for episode in one.episodes:
            if episode.scored and episode.success is not None:
                scores.setdefault(episode.task.key, []).append(episode.success)
        groups[one.first.benchmark] = [sum(group) / len(group) for _, group in sorted(scores.items())]
    return Cell(macro_mean(groups, seed))


def _why(measure: str, cell: Cell) -> str:
    """Why a measure is not there, in words that follow it."""
    told = cell.measures
    if told is None or told.unscored == told.episodes:
        return ": no episode was scored"
    if measure == "maj":
        return ": no episode has a final answer"
    return f": there are {told.samples} samples of a task" if measure.startswith("pass@") else ""


def _notes(table: Table, entries: Sequence[Entry]) -> tuple[str, ...]:
    found: list[str] = []
    for row in table.rows:
        for head, cell in zip(table.columns, row.cells, strict=True):
            if cell.missing:
                found.append(
                    f"{row.name} on {head.title} is partial ({', '.join(cell.runs)} lacks {cell.missing} episodes) and "
                    "has no figure: finish it with --resume."
                )
            if cell.contrast is not None:
                found += cell.contrast.notes
            if cell.measures is not None and not cell.missing and (cell.value is None or cell.value.value is None):
                found.append(
                    f"{table.measure} of {row.name} on {head.title} is not measured{_why(table.measure, cell)}."
                )
            elif cell.measures is not None and cell.measures.unscored:
                told = cell.measures
                found.append(
                    f"{told.unscored} of {told.episodes} episodes of {row.name} on {head.title} are unscored; had they "
                    f"been lost, avg@k would be {told.at_worst:.3f}."
                )
    if len(releases := sorted({entry.release for entry in entries})) > 1:
        found.insert(0, f"Played by several versions of MetaGym ({', '.join(releases)}), whose families may differ.")
    found += [note for entry in entries for note in entry.notes]
    found = [note for note in found if not note.startswith("Scripted stand-ins")]  # said once, of whom
    if scripted := [row.name for row in table.rows if row.backends == ("scripted",)]:
        found.insert(0, f"Scripted stand-ins, no language models: {', '.join(scripted)}.")
    compared = sum(cell.contrast is not None for row in table.rows for cell in row.cells)
    if compared > 1:
        found.append(f"{compared} comparisons with {table.baseline}; nothing is corrected for their number.")
    return tuple(dict.fromkeys(found))
