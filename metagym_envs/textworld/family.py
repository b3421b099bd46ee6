"""The TextWorld family: generated games as tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from metagym.errors import BadInput
from metagym.extras import require
from metagym.families import Family
from metagym.tasks import Task, TaskSet
from metagym_envs.textworld.env import TextWorldGame
from metagym_envs.textworld.games import CHALLENGES, check_settings, settings_for
from metagym_envs.textworld.text import INSTRUCTIONS

FAMILY = "TextWorld"
FIRST_SEEDS = {"train": 0, "valid": 1_000_000, "test": 2_000_000}


def TextWorld(
    challenges: Iterable[str] = tuple(CHALLENGES),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    size: int = 100,
) -> Family:
    """Games that TextWorld makes, one task type per challenge.

    Args:
        challenges: ``"simple"``, ``"cooking"``, ``"coin_collector"``, ``"treasure_hunter"``.
        settings: By challenge, what wins over our defaults: ``{"coin_collector": {"level": 20}}``.
        size: Games per challenge and split. A game is made when it is first opened (seconds) and kept in
            ``METAGYM_CACHE``.

    Returns:
        The family.

    Raises:
        BadInput: A challenge or setting is unknown.
        MissingExtra: TextWorld is not installed (extra ``textworld``, Python 3.11 and 3.12).
    """
    names = (challenges,) if isinstance(challenges, str) else tuple(dict.fromkeys(challenges))
    if not names:
        raise BadInput(f"a TextWorld family needs a challenge: {', '.join(CHALLENGES)}")
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= 1_000_000:
        raise BadInput(f"size is a number of games from 1 to 1,000,000, got {size!r}")
    given = {name: check_settings(name, values) for name, values in (settings or {}).items()}
    for name in names:
        check_settings(name, given.get(name, {}))
    require("textworld", "textworld")
    return Family(
        name=FAMILY,
        tasks=_Tasks(names, size),
        open=_Opener(json.dumps(given, sort_keys=True)),
        splits=tuple(FIRST_SEEDS),
        instructions=INSTRUCTIONS,
        max_steps=50,
        host="process",  # the interpreter keeps its state in globals
        versions={"textworld": version("textworld")},
        options={"challenges": list(names), "settings": given or None, "size": size},
    )


@lru_cache(maxsize=16)
def _tasks(names: tuple[str, ...], split: str, size: int) -> TaskSet:
    first = FIRST_SEEDS[split]
    return TaskSet(
        (
            Task(FAMILY, f"{name}/{split}/{number}", name, split, seed=first + number)
            for name in names
            for number in range(size)
        ),
        f"{FAMILY}/{split}",
    )


@dataclass(frozen=True)
class _Tasks:
    names: tuple[str, ...]
    size: int

    def __call__(self, split: str) -> TaskSet:
        return _tasks(self.names, split, self.size)


@dataclass(frozen=True)
class _Opener:
    settings: str

    def __call__(self, task: Task) -> TextWorldGame:
        given = json.loads(self.settings).get(task.type, {})
        return TextWorldGame(task.type, settings_for(task.type, given, task.split, task.seed), task.seed)
