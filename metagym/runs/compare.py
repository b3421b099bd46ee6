"""Compares two runs task by task: the same held-out tasks, a paired interval and an exact test."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from metagym import stats
from metagym.episodes import Episode
from metagym.errors import BadInput, RunError
from metagym.runs.folder import RunFolder, manifest_differences, shortened
from metagym.runs.results import EVAL, Point, Results, load_results
from metagym.stats import Estimate, McNemar

if TYPE_CHECKING:
    from rich.table import Table

At = Literal["last", "best", "first"]

# What must be equal for two success rates to mean the same thing. Models, prompts and seeds may differ: they are what
# one compares.
LIKE = (
    "family",
    "success_rule",
    "max_steps",
    "eval_split",
    "versions.family",
    "config.family",
    "config.family_options",
    "config.max_steps",
    "config.eval_split",
    "card",
)
"""Manifest fields (dotted) that `compare` wants equal; a field that both lack is equal."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        name: The run's folder, with the arm where it has several.
        turn: Meta-turn whose prompt is compared.
        success: Success rate on the common tasks.
        returns: Mean return on them.
        backends: Kinds of model that played.
    """

    name: str
    turn: int
    success: Estimate
    returns: Estimate
    backends: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """The comparison on one task type, or on all.

    Attributes:
        type: Task type; "" for all of them.
        a: Success rate of the first side.
        b: Success rate of the second side.
        difference: Paired difference b - a.
    """

    type: str
    a: Estimate
    b: Estimate
    difference: Estimate


@dataclass(frozen=True)
class Comparison:
    """Two runs on the same tasks; differences are b - a.

    Attributes:
        a: The first side.
        b: The second side.
        rows: All tasks first, then one row per task type.
        returns: Paired difference of the returns.
        test: McNemar's exact test on the successes; None where tasks were played several times with mixed results.
        notes: What the reader must know before the figures are believed.
    """

    a: Side
    b: Side
    rows: tuple[Row, ...]
    returns: Estimate
    test: McNemar | None
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> Estimate:
        """The paired difference of the success rates over all tasks."""
        return self.rows[0].difference

    def to_json(self) -> dict[str, Any]:
        """The comparison as a JSON object."""
        return asdict(self)

    def table(self) -> Table:
        """The comparison as a table for the terminal."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        _, a, b, difference = self._headings()
        table = Table(
            title=Text(f"Success on the same tasks\n{a}\n{b}", style="bold"),
            title_justify="left",
            caption=Text("\n".join(self._below())),
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        # What is narrow stays whole on a terminal of 80 columns; long type names are folded.
        table.add_column("task type", overflow="fold")
        for heading in ("a", "b", "n", difference):
            table.add_column(heading, justify="right", no_wrap=True)
        for row in self.rows:
            both = str(row.a.n) if row.a.n == row.b.n else f"{row.a.n}, {row.b.n}"
            cells = (f"{side.point()} {side.interval()}" for side in (row.a, row.b))
            shown = f"{row.difference.point(sign=True)} {row.difference.interval(sign=True)}"
            table.add_row(*(Text(cell) for cell in (row.type or "all", *cells, both, shown)))
        return table

    def markdown(self) -> str:
        """The comparison as a Markdown table with its notes."""
        lines = ["| " + " | ".join(map(_escaped, self._headings())) + " |", "|---|---:|---:|---:|"]
        lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in self._cells()]
        return "\n".join([*lines, "", *(f"- {_escaped(line)}" for line in self._below())]) + "\n"

    def _headings(self) -> list[str]:
        sides = [f"{letter}: {side.name}, turn {side.turn}" for letter, side in (("a", self.a), ("b", self.b))]
        return ["task type", *sides, "b - a"]

    def _cells(self) -> list[list[str]]:
        return [[row.type or "all", row.a.text(), row.b.text(), row.difference.text(sign=True)] for row in self.rows]

    def _below(self) -> list[str]:
        return [
            f"McNemar's exact test: {self.test or 'left out, since tasks count by their mean over several plays'}",
            f"mean return, b - a: {self.returns.text(sign=True)}",
            f"intervals: {self.rows[0].a.method}; differences: {self.difference.method or 'none'}, paired by task",
            *self.notes,
        ]


def compare(
    run_a: str | os.PathLike[str],
    run_b: str | os.PathLike[str],
    *,
    at: At = "last",
    arm_a: str | None = None,
    arm_b: str | None = None,
    common_only: bool = False,
    seed: int = 0,
) -> Comparison:
    """Compares two run folders on their held-out tasks.

    Args:
        run_a: The first run, e.g. the baseline.
        run_b: The second run; may be the same folder with another arm.
        at: Which meta-turn of each: the ``last`` scored one, the ``first`` (starting prompt), or the ``best``, which is
            picked on the very tasks it is then scored on and said to be so.
        arm_a: Arm of the first run; needed where it has several.
        arm_b: Arm of the second run.
        common_only: Compare on the tasks that both played instead of refusing different sets.
        seed: Decides the bootstrap's resampling.

    Raises:
        RunError: One is no run, has no held-out episodes, or they are not alike; the message names the field.
        BadInput: An unknown value of `at`.
        StoreError: A folder cannot be read.
    """
    if at not in get_args(At):
        raise BadInput(f"at is one of {', '.join(get_args(At))}, got {at!r}")
    sides = []
    for run, arm in ((run_a, arm_a), (run_b, arm_b)):
        with RunFolder.open(run) as folder:
            results = load_results(folder)
            sides.append((folder.path.name or str(folder.path), results, _arm(folder, results, arm)))
    (name_a, results_a, of_a), (name_b, results_b, of_b) = sides
    _check_alike(name_a, results_a.manifest, name_b, results_b.manifest)
    turn_a, turn_b = _turn(name_a, results_a, of_a, at), _turn(name_b, results_b, of_b, at)
    played_a, played_b = results_a.episodes(of_a, turn_a, EVAL), results_b.episodes(of_b, turn_b, EVAL)
    notes = [*_check_tasks(name_a, played_a, name_b, played_b, common_only)]
    common = {e.task.key for e in played_a} & {e.task.key for e in played_b}
    played_a = [episode for episode in played_a if episode.task.key in common]
    played_b = [episode for episode in played_b if episode.task.key in common]
    seats = [results.manifest.get("config", {}).get("seat") for results in (results_a, results_b)]
    for field, old, new in manifest_differences(*seats):
        notes.append(f"The actor was asked in different ways: {field} is {old!r} in a and {new!r} in b.")
    if at == "best":
        notes.append("The best turn was picked on these same tasks, which flatters both sides.")
    side_a = _side(_label(name_a, of_a, name_b, of_b), turn_a, played_a, seed)
    side_b = _side(_label(name_b, of_b, name_a, of_a), turn_b, played_b, seed)
    if side_a.backends != side_b.backends:
        notes.append(f"Different kinds of model: a {' and '.join(side_a.backends)}, b {' and '.join(side_b.backends)}.")
    elif side_a.backends == ("scripted",):
        notes.append("Scripted stand-ins on both sides: this compares the loop, not language models.")
    return compare_episodes(side_a, played_a, side_b, played_b, notes, seed)


def compare_episodes(
    side_a: Side,
    played_a: Sequence[Episode],
    side_b: Side,
    played_b: Sequence[Episode],
    notes: Iterable[str] = (),
    seed: int = 0,
) -> Comparison:
    """Compares two lists of episodes, paired by task; a task that was played several times counts once, by its mean."""
    successes_a, successes_b = _successes(played_a), _successes(played_b)
    types: dict[str, set[str]] = {"": set(successes_a) | set(successes_b)}
    for episode in played_a:
        if episode.task.type:
            types.setdefault(episode.task.type, set()).add(episode.task.key)
    rows = []
    for name, keys in types.items():
        if len(types) == 2 and name:
            continue  # a single type says what the first row says
        rows.append(
            Row(
                type=name,
                a=stats.success_estimate((e for e in played_a if e.task.key in keys), seed),
                b=stats.success_estimate((e for e in played_b if e.task.key in keys), seed),
                difference=stats.paired_difference(_only(successes_a, keys), _only(successes_b, keys), seed),
            )
        )
    returns = stats.paired_difference(_returns(played_a), _returns(played_b), seed)
    return Comparison(side_a, side_b, tuple(rows), returns, _mcnemar(successes_a, successes_b), tuple(notes))


def side_of(results: Results, arm: str, turn: int, name: str) -> tuple[Side, list[Episode]]:
    """One arm of a run as a side of a comparison, with its held-out episodes."""
    played = results.episodes(arm, turn, results.phase_of(arm))
    return _side(name, turn, played, 0), played


def _side(name: str, turn: int, played: Sequence[Episode], seed: int) -> Side:
    backends = tuple(sorted({episode.backend for episode in played}))
    return Side(name, turn, stats.success_estimate(played, seed), stats.return_estimate(played, seed), backends)


def _label(name: str, arm: str, other_name: str, other_arm: str) -> str:
    if not arm:
        return name
    return arm if name == other_name and arm != other_arm else f"{name} ({arm})"


def _arm(folder: RunFolder, results: Results, wanted: str | None) -> str:
    if wanted is None and len(results.arms) == 1:
        return results.arms[0]
    if wanted in results.arms and wanted is not None:
        return wanted
    if not results.arms:
        raise RunError(f"{folder.path} holds no episode yet; let the run go on first")
    names = ", ".join(repr(name) for name in results.arms)
    asked = "several arms" if wanted is None else f"no arm {wanted!r}"
    raise RunError(f"{folder.path} has {asked}; name one of {names}")


def _check_alike(name_a: str, a: Mapping[str, Any], name_b: str, b: Mapping[str, Any]) -> None:
    for field in LIKE:
        for path, left, right in manifest_differences(at_path(a, field), at_path(b, field), field):
            raise RunError(
                f"{name_a} and {name_b} are not alike: {path} is {shortened(left)} in the first and {shortened(right)} "
                "in the second, so their success rates do not mean the same"
            )


def _check_tasks(
    name_a: str, a: Sequence[Episode], name_b: str, b: Sequence[Episode], common_only: bool
) -> Iterable[str]:
    keys_a, keys_b = {e.task.key for e in a}, {e.task.key for e in b}
    common = keys_a & keys_b
    if keys_a == keys_b:
        return
    if common and common_only:
        yield f"Only the {len(common)} common tasks are compared (a played {len(keys_a)}, b played {len(keys_b)})."
        return
    odd = min(keys_a ^ keys_b)
    raise RunError(
        f"{name_a} and {name_b} are not alike: eval tasks differ ({len(keys_a)} and {len(keys_b)}, "
        f"{len(common)} in common; {odd!r} is in the {'first' if odd in keys_a else 'second'} only)"
    )


def _turn(name: str, results: Results, arm: str, at: At) -> int:
    curve = results.curve(arm)
    if curve.phase != EVAL or not curve.points:
        raise RunError(f"{name} has no held-out episodes to compare; run it with --eval-tasks")
    # A turn that was cut off holds part of the tasks: it is no turn to compare.
    size = max(len(results.episodes(arm, point.turn, EVAL)) for point in curve.points)
    whole = [point for point in curve.points if len(results.episodes(arm, point.turn, EVAL)) == size]
    if at == "best":
        return max(whole, key=_rank).turn
    return whole[0 if at == "first" else -1].turn


def _rank(point: Point) -> tuple[float, int]:
    """The best success first, then the earliest turn; a turn where nothing was scored is behind every measured one."""
    value = point.success.value
    return (-1.0 if value is None else value), -point.turn


def _successes(episodes: Iterable[Episode]) -> dict[str, float | None]:
    return stats.task_means((e.task.key, e.success if e.scored else None) for e in episodes)


def _returns(episodes: Iterable[Episode]) -> dict[str, float | None]:
    return stats.task_means((e.task.key, e.ret if e.scored else None) for e in episodes)


def _only(scores: Mapping[str, float | None], keys: set[str]) -> dict[str, float | None]:
    return {key: score for key, score in scores.items() if key in keys}


def _mcnemar(a: Mapping[str, float | None], b: Mapping[str, float | None]) -> McNemar | None:
    """The test, or None where a task that was won in some of its plays is neither a success nor a failure."""
    if any(score not in (None, 0.0, 1.0) for score in (*a.values(), *b.values())):
        return None
    return stats.mcnemar(
        {key: None if score is None else score == 1.0 for key, score in a.items()},
        {key: None if score is None else score == 1.0 for key, score in b.items()},
    )


def at_path(manifest: Mapping[str, Any], path: str) -> Any:
    """The field of a manifest that a dotted name means; None where it is absent."""
    value: Any = manifest
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
