"""Reasoning Gym's data sets, and the tasks that their questions are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from metagym.errors import BadInput
from metagym.extras import require
from metagym.tasks import Task, TaskSet
from metagym_envs.reasoning.hard import EVALUATION_SEED, HARD
from metagym_envs.reasoning.ordered import ordered

FAMILY = "Reasoning"
SPLITS = ("train", "test")
TRAIN_SEED = 1_000_000_000
"""A question is made from the sum of its data set's seed and its number, so this keeps the splits apart."""

SEEDS = {"train": TRAIN_SEED, "test": EVALUATION_SEED}
WITHOUT_SOLUTION = frozenset({"graph_color", "propositional_logic", "rubiks_cube", "rush_hour"})
"""Hard data sets whose questions come without a solution; answers are checked all the same."""


class Item(NamedTuple):
    """One question.

    Attributes:
        dataset: Reasoning Gym's data set, which scores.
        entry: What it made: ``question``, ``answer`` (may be None), ``metadata``.
    """

    dataset: Any
    entry: Mapping[str, Any]


class Selection(NamedTuple):
    """Which data sets with which settings.

    Attributes:
        names: Data sets, in the order of their questions.
        level: ``"hard"`` or ``"default"``.
        params: JSON text of settings by data set, which win over the level's.
    """

    names: tuple[str, ...]
    level: str
    params: str


def select(
    group: str | None, datasets: Iterable[str] | None, level: str, params: Mapping[str, Any] | None
) -> Selection:
    """Checks a choice of data sets.

    Raises:
        BadInput: A name is unknown; the message lists those that are known.
        MissingExtra: Reasoning Gym is not installed.
    """
    if level not in ("hard", "default"):
        raise BadInput(f"the level of Reasoning is 'hard' or 'default', got {level!r}")
    if group is not None and group not in HARD:
        raise BadInput(f"there is no group {group!r} of reasoning data sets; there are {', '.join(HARD)}")
    if group is not None and datasets is not None:
        raise BadInput("give a group of data sets or their names, not both")
    if datasets is None:
        names = tuple(name for key, members in HARD.items() if group in (None, key) for name in members)
    else:
        names = (datasets,) if isinstance(datasets, str) else tuple(dict.fromkeys(datasets))
    known = require("reasoning_gym", "reasoning").factory.DATASETS
    for name in (*names, *(params or {})):
        if name not in known:
            raise BadInput(f"Reasoning Gym has no data set {name!r}; it has {', '.join(sorted(known))}")
    if level == "hard" and (missing := [name for name in names if not any(name in g for g in HARD.values())]):
        raise BadInput(f"there is no hard configuration of {', '.join(missing)}; use level='default'")
    try:
        return Selection(names, level, json.dumps(params or {}, sort_keys=True))
    except TypeError:
        raise BadInput("params are settings by data set, plain JSON: {'chain_sum': {'min_terms': 5}}") from None


def settings(selection: Selection, name: str) -> dict[str, Any]:
    """The settings of one data set."""
    hard = next((group[name] for group in HARD.values() if name in group), {})
    return {**(hard if selection.level == "hard" else {}), **json.loads(selection.params).get(name, {})}


@lru_cache(maxsize=128)
def _dataset(selection: Selection, name: str, seed: int, size: int) -> Any:
    library = require("reasoning_gym", "reasoning")
    try:
        made = library.create_dataset(name, seed=seed, size=size, **settings(selection, name))
    except (AssertionError, TypeError, ValueError) as error:
        raise BadInput(f"Reasoning Gym refuses the settings of {name}: {str(error)[:200]}") from None
    return ordered(name, made)


def item(selection: Selection, task: Task, size: int) -> Item:
    """The question of a task.

    Raises:
        BadInput: Its settings are refused.
    """
    dataset = _dataset(selection, task.type, SEEDS[task.split], size)
    return Item(dataset, dataset[task.params["index"]])


@lru_cache(maxsize=16)
def task_set(selection: Selection, split: str, size: int) -> TaskSet:
    """`size` questions of each data set, data set after data set."""
    return TaskSet(
        (
            Task(FAMILY, f"{name}/{split}/{index}", name, split, seed=SEEDS[split] + index, params={"index": index})
            for name in selection.names
            for index in range(size)
        ),
        f"{FAMILY}/{split}",
    )
