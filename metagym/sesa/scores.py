"""Evaluations side by side: success per set, micro and macro means, and paired differences with their tests.

A micro mean weighs every question alike, a macro mean every set, as the papers report it. All differences are paired by
question: at 45 % and 3,125 questions an unpaired standard error is one point, which is more than most gaps in print.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from metagym import stats
from metagym.episodes import Episode
from metagym.errors import BadInput
from metagym.seeding import derive
from metagym.stats import CONFIDENCE, RESAMPLES, Estimate, McNemar

MICRO, MACRO = "all, micro", "all, macro"


@dataclass(frozen=True)
class Column:
    """One evaluation.

    Attributes:
        name: As the table calls it.
        episodes: One per question and play; the task's type is the set.
        role: ``off``, ``on`` or ``placebo``, or ``baseline`` for the one that carry-over is measured against.
    """

    name: str
    episodes: Sequence[Episode]
    role: str = ""


@dataclass(frozen=True)
class Contrast:
    """A paired difference b - a.

    Attributes:
        name: What it measures, e.g. ``retrieval gain``.
        a: Column.
        b: Column.
        differences: Set -> difference; `MICRO` and `MACRO` among them.
        tests: Set -> McNemar's exact test (`MICRO` for all questions); None where questions were played several times
            with mixed results.
    """

    name: str
    a: str
    b: str
    differences: Mapping[str, Estimate]
    tests: Mapping[str, McNemar | None]


@dataclass(frozen=True)
class Scores:
    """The table of an evaluation.

    Attributes:
        sets: Names of the sets, in order of first appearance.
        columns: Names of the columns.
        success: Column -> set -> success rate; `MICRO` and `MACRO` among the sets.
        contrasts: What is compared with what.
    """

    sets: tuple[str, ...]
    columns: tuple[str, ...]
    success: Mapping[str, Mapping[str, Estimate]]
    contrasts: tuple[Contrast, ...]

    @property
    def rows(self) -> tuple[str, ...]:
        """The sets and the two means."""
        return (*self.sets, MICRO, MACRO)

    def to_json(self) -> dict[str, Any]:
        """The table as a JSON object."""
        return asdict(self)


CONTRASTS: tuple[tuple[str, str, str], ...] = (
    ("parametric carry-over", "baseline", "off"),
    ("retrieval gain", "off", "on"),
    ("placebo", "off", "placebo"),
    ("content of the cards", "placebo", "on"),
)
"""Name, role of a, role of b."""


def score_table(columns: Sequence[Column], seed: int = 0) -> Scores:
    """Computes the table.

    Args:
        columns: The evaluations; all on the same questions. A contrast is there where both of its roles are.
        seed: Decides the resampling.

    Raises:
        BadInput: They played different questions, or two have one name.
    """
    names = [column.name for column in columns]
    if len(set(names)) != len(names):
        raise BadInput(f"two evaluations have one name: {', '.join(names)}")
    values = {column.name: _by_set(column.episodes) for column in columns}
    for name in names[1:]:
        keys, first = _keys(values[name]), _keys(values[names[0]])
        if odd := sorted(keys ^ first):
            raise BadInput(
                f"{names[0]!r} and {name!r} did not play the same questions: {odd[0]!r} is in one of them only "
                f"({len(odd)} such)"
            )
    success = {column.name: _success(column, values[column.name], seed) for column in columns}
    roles = {column.role: column.name for column in reversed(columns) if column.role}
    contrasts = tuple(
        _contrast(name, roles[a], roles[b], values, seed) for name, a, b in CONTRASTS if a in roles and b in roles
    )
    return Scores(tuple(next(iter(values.values()), {})), tuple(names), success, contrasts)


Values = dict[str, dict[str, float | None]]


def _by_set(episodes: Sequence[Episode]) -> Values:
    groups: dict[str, list[Episode]] = {}
    for episode in episodes:
        groups.setdefault(episode.task.type or "questions", []).append(episode)
    return {
        name: stats.task_means((one.task.key, one.success if one.scored else None) for one in group)
        for name, group in groups.items()
    }


def _keys(values: Values) -> set[str]:
    return {key for group in values.values() for key in group}


def _success(column: Column, values: Values, seed: int) -> dict[str, Estimate]:
    found = {
        name: stats.success_estimate(
            (one for one in column.episodes if (one.task.type or "questions") == name), derive(seed, "set", name)
        )
        for name in values
    }
    found[MICRO] = stats.success_estimate(column.episodes, derive(seed, "micro"))
    found[MACRO] = macro_mean({name: list(group.values()) for name, group in values.items()}, derive(seed, "macro"))
    return found


def _contrast(name: str, a: str, b: str, values: Mapping[str, Values], seed: int) -> Contrast:
    left, right = values[a], values[b]
    flat_a, flat_b = _flat(left), _flat(right)
    differences = {
        group: stats.paired_difference(left[group], right[group], derive(seed, "pairs", group)) for group in left
    }
    differences[MICRO] = stats.paired_difference(flat_a, flat_b, derive(seed, "pairs"))
    differences[MACRO] = macro_mean(
        {group: [_minus(right[group][key], left[group][key]) for key in sorted(left[group])] for group in left},
        derive(seed, "pairs", "macro"),
    )
    tests = {group: _mcnemar(left[group], right[group]) for group in left} | {MICRO: _mcnemar(flat_a, flat_b)}
    return Contrast(name, a, b, differences, tests)


def _flat(values: Values) -> dict[str, float | None]:
    return {key: value for group in values.values() for key, value in group.items()}


def _minus(b: float | None, a: float | None) -> float | None:
    return None if a is None or b is None else b - a


def _mcnemar(a: Mapping[str, float | None], b: Mapping[str, float | None]) -> McNemar | None:
    if any(score not in (None, 0.0, 1.0) for score in (*a.values(), *b.values())):
        return None
    return stats.mcnemar(
        {key: None if score is None else score == 1.0 for key, score in a.items()},
        {key: None if score is None else score == 1.0 for key, score in b.items()},
    )


def macro_mean(groups: Mapping[str, Sequence[float | None]], seed: int = 0) -> Estimate:
    """The mean over groups of each group's mean, with a bootstrap interval that resamples within the groups.

    The interval is the percentile one of the stratified bootstrap (Efron and Tibshirani 1993, chapter 13): groups are
    fixed, as the seven sets are, and their members are drawn.

    Args:
        groups: Group -> values; None counts as unscored. A group without any value leaves the mean unmeasured.
        seed: Decides the resampling; equal seeds draw equal resamples on any NumPy.
    """
    method = f"bootstrap within sets, percentile {CONFIDENCE * 100:g}%"
    known = {name: [float(value) for value in values if value is not None] for name, values in groups.items()}
    n, unscored = sum(map(len, known.values())), sum(value is None for values in groups.values() for value in values)
    if not known or not all(known.values()):
        return Estimate(None, None, None, n, unscored, method)
    value = math.fsum(math.fsum(values) / len(values) for values in known.values()) / len(known)
    if all(min(values) == max(values) for values in known.values()):
        return Estimate(value, None, None, n, unscored, method)
    total = np.zeros(RESAMPLES)
    for name, values in sorted(known.items()):
        data = np.asarray(values)
        bits = np.random.PCG64(derive(seed, "macro", name))  # raw words: a stream that NumPy guarantees (NEP 19)
        for start in range(0, RESAMPLES, 1000):
            count = min(1000, RESAMPLES - start)
            words = bits.random_raw(count * len(data)) >> np.uint64(11)
            picks = np.minimum((words * (2.0**-53 * len(data))).astype(np.intp), len(data) - 1)
            total[start : start + count] += data[picks].reshape(count, -1).mean(axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(end) for end in np.quantile(total / len(known), (tail, 1 - tail)))
    return Estimate(value, low, high, n, unscored, method)
