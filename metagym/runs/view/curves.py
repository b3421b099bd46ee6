"""Curves of several runs side by side: those that mean the same in one figure, the others apart, with what differs.

Two curves mean the same where everything but models, prompts and seeds is equal: for ICT what `metagym compare` wants
equal and the set of held-out tasks, for SPADE what decides win rate and regret, for SESA material, scoring and
rollouts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metagym.errors import MetaGymError, UnknownName
from metagym.runs.compare import LIKE, at_path
from metagym.runs.folder import manifest_differences, shortened
from metagym.runs.report import plots
from metagym.runs.report.text import visible
from metagym.runs.results import EVAL, Curve, Results
from metagym.runs.sesa_results import load_sesa
from metagym.runs.spade_results import load_spade
from metagym.runs.view.catalogue import Run, refuse_damaged, sentence
from metagym.stats import Estimate

MAX_LINES = plots.SERIES
"""Curves of one figure, each with a colour of its own."""
_SPADE = ("setting", "seeds", "repeats", "estimator", "hint", "player", "skills", "ablations")
_SESA = ("material", "scorer", "judge", "rollouts", "tasks", "data", "hops", "rollout")


@dataclass(frozen=True)
class Line:
    """One curve.

    Attributes:
        run: Id of its run.
        label: How the page calls it.
        measure: What is measured, e.g. ``success on held-out tasks``.
        over: What is counted, ``meta-turn`` or ``round``.
        points: (count, estimate), in order.
        likeness: What must be equal for two curves to mean the same.
        scale: Ends of the axis; None for shares.
        notes: What the reader must know, e.g. points of a part of the tasks.
    """

    run: str
    label: str
    measure: str
    over: str
    points: tuple[tuple[int, Estimate], ...]
    likeness: Mapping[str, Any]
    scale: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chart:
    """Curves that mean the same, in one figure.

    Attributes:
        lines: At most `MAX_LINES` are drawn; all stand in the table.
        why: Why they are drawn apart from those before; "" for the first chart of a measure.
    """

    lines: tuple[Line, ...]
    why: str = ""

    def svg(self, name: str) -> str:
        """The figure as an ``<svg>`` element."""
        first = self.lines[0]
        series = [plots.Series(line.points, number) for number, line in enumerate(self.lines[:MAX_LINES])]
        return plots.curves(series, [], first.measure, name, first.over, first.measure, first.scale)


def lines_of(run: Run) -> list[Line]:
    """The curves of a run.

    Raises:
        MetaGymError: They cannot be read, or would be of a part of the records.
    """
    if run.kind == "spade":
        return _spade(run)
    if run.kind == "sesa":
        return _sesa(run)
    if run.kind in ("eval", "sesa eval"):
        return []  # measured once: tables, see `metagym.runs.view.tables`
    results = run.results()
    found = []
    for curve in results.curves:
        on = "held-out tasks" if curve.phase == EVAL else "each turn's own batch"
        likeness = {field: at_path(run.manifest, field) for field in LIKE}
        if curve.phase == EVAL:  # batches differ in their tasks anyway
            keys = sorted({one.task.key for one in results.episodes(curve.arm, phase=EVAL)})
            likeness |= {"held-out tasks": f"{len(keys)} tasks, {_digest(keys)}"}
        points = tuple((point.turn, point.success) for point in curve.points)
        label = f"{run.name}: {visible(curve.arm, 60)}" if curve.arm else run.name
        notes = tuple(_partial(results, curve, label))
        found.append(Line(run.id, label, f"success on {on}", "meta-turn", points, likeness, notes=notes))
    return [line for line in found if line.points]


def _partial(results: Results, curve: Curve, label: str) -> Iterable[str]:
    """Points of fewer episodes than the others: a turn that was cut off, or is being played."""
    sizes = {point.turn: len(results.episodes(curve.arm, point.turn, curve.phase)) for point in curve.points}
    most = max(sizes.values(), default=0)
    for turn, size in sizes.items():
        if size < most:
            yield f"{label}: turn {turn} holds {size} of {most} episodes, so its point is of a part of the tasks."


def charts(runs: Iterable[Run]) -> tuple[list[Chart], list[str]]:
    """The charts of some runs, and one sentence for each run that has none."""
    lines: list[Line] = []
    without: list[str] = []
    for run in runs:
        try:
            found = lines_of(run)
        except MetaGymError as error:
            without.append(f"{run.name}: {sentence(error, run)}")
            continue
        lines += found
        if not found:
            measured_once = run.kind in ("eval", "sesa eval")
            why = (
                "it is an evaluation, measured once; its page has the table" if measured_once else "nothing scored yet"
            )
            without.append(f"{run.name} has no curve: {why}.")
    return grouped(lines), without


def grouped(lines: Sequence[Line]) -> list[Chart]:
    """Lines that mean the same, together."""
    groups: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.measure, line.over, _digest(line.likeness)), []).append(line)
    made: list[Chart] = []
    first: dict[tuple[str, str], Line] = {}
    for (measure, over, _), members in groups.items():
        before = first.setdefault((measure, over), members[0])
        made.append(Chart(tuple(members), "" if before is members[0] else _why(before, members[0])))
    return made


def _why(before: Line, after: Line) -> str:
    differing = [
        f"{name} is {shortened(old)} in {before.label} and {shortened(new)} in {after.label}"
        for name, old, new in manifest_differences(before.likeness, after.likeness)
    ]
    more = f", and {len(differing) - 2} more settings differ" if len(differing) > 2 else ""
    return visible(f"Drawn apart, since the rates do not mean the same: {'; '.join(differing[:2])}{more}.", 600)


def _spade(run: Run) -> list[Line]:
    results = spade_results(run)
    config = run.manifest.get("config")
    likeness = {name: config.get(name) if isinstance(config, Mapping) else None for name in _SPADE}
    points = results.points
    plain = tuple((point.round, point.plain) for point in points)
    hinted = tuple((point.round, point.hinted) for point in points)
    regret = tuple((point.round, point.regret) for point in points)
    made = [
        Line(run.id, run.name, "win rate without the hint", "round", plain, likeness),
        Line(run.id, run.name, "win rate with the hint", "round", hinted, likeness),
        Line(run.id, run.name, "regret", "round", regret, likeness, (-1.05, 1.05)),
    ]
    return [line for line in made if line.points]


def _sesa(run: Run) -> list[Line]:
    results = sesa_results(run)
    config = run.manifest.get("config")
    likeness = {name: config.get(name) if isinstance(config, Mapping) else None for name in _SESA}
    told = sorted(results.summaries.items())
    success = tuple((number, Estimate(one["rate"], None, None, 1)) for number, one in told)
    frontier = tuple((number, _frontier(one["frontier"])) for number, one in told)
    made = [
        Line(run.id, run.name, "success of the solver's rollouts", "round", success, likeness),
        Line(run.id, run.name, "share of questions at the frontier", "round", frontier, likeness),
    ]
    return [line for line in made if line.points]


def _frontier(told: Mapping[str, int]) -> Estimate:
    total = sum(told.values())
    return Estimate(told["sometimes"] / total if total else None, None, None, total)


def spade_results(run: Run) -> Any:
    """The results of a run of SPADE, read once per state.

    Raises:
        MetaGymError: They cannot be read.
    """
    _of_kind(run, "spade")
    return run.kept("spade", lambda: load_spade(run.path))


def sesa_results(run: Run) -> Any:
    """The results of a run of SESA, read once per state; its paid replies are left alone, since SQLite writes to read.

    Raises:
        MetaGymError: They cannot be read.
    """
    _of_kind(run, "sesa")
    return run.kept("sesa", lambda: replace(load_sesa(run.path), replies=None))


def _of_kind(run: Run, kind: str) -> None:
    refuse_damaged(run)
    if run.kind != kind:
        raise UnknownName(f"this is a run of kind {run.kind!r}, and none of {kind!r}: it has no such page")


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("utf-8", "backslashreplace")).hexdigest()[:12]
