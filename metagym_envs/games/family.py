"""The Games family: TextArena's games as tasks."""

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
from metagym_envs.games.catalogue import GAMES, find, settings_for
from metagym_envs.games.env import TextArenaGame
from metagym_envs.games.opponents import check_style
from metagym_envs.games.text import INSTRUCTIONS, clean

FAMILY = "Games"
FIRST_SEEDS = {"train": 0, "valid": 1_000_000, "test": 2_000_000}


def Games(
    games: Iterable[str] = tuple(GAMES),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    opponent: str = "random",
    seat: int | None = None,
    size: int = 100,
) -> Family:
    """TextArena's games, one task type per game.

    Args:
        games: Names, as in `metagym_envs.games.catalogue.GAMES`. All of them by default.
        settings: By game, what wins over our settings: ``{"Minesweeper": {"num_mines": 6}}``.
        opponent: Who sits in the other seat of games for two: ``"random"`` or ``"careful"`` (scripted).
        seat: The agent's seat in them, 0 or 1; None lets the seed decide.
        size: Games per type and split, told apart by their seeds. TowerOfHanoi, in which a seed changes nothing, has
            3 and 4 disks for training, 5 and 6 held out.

    Returns:
        The family.

    Raises:
        BadInput: A setting is not usable, or a game is not played here; the sentence says why.
        UnknownName: There is no such game.
        MissingExtra: TextArena is not installed (extra ``games``).
    """
    names = tuple(dict.fromkeys(find(name).name for name in ((games,) if isinstance(games, str) else games)))
    if not names:
        raise BadInput(f"a family of games needs a game: {', '.join(GAMES)}")
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= 1_000_000:
        raise BadInput(f"size is a number of games from 1 to 1,000,000, got {size!r}")
    if seat is not None and (isinstance(seat, bool) or seat not in (0, 1)):
        raise BadInput(f"a seat is 0, 1 or None, got {seat!r}")
    given = {find(name).name: dict(values) for name, values in (settings or {}).items()}
    for name, values in given.items():
        settings_for(find(name), values)
    require("textarena", "games")
    return Family(
        name=FAMILY,
        tasks=_Tasks(names, size),
        open=_Opener(json.dumps(given, sort_keys=True), check_style(opponent), seat),
        splits=tuple(FIRST_SEEDS),
        clean=clean,
        instructions=INSTRUCTIONS,
        max_steps=130,  # above the games' own limits, the largest of which are 101 and 126
        host="thread",  # some starts take tens of milliseconds to make
        versions={"textarena": version("textarena")},
        options={"games": list(names), "settings": given or None, "opponent": opponent, "seat": seat, "size": size},
    )


@lru_cache(maxsize=16)
def _tasks(names: tuple[str, ...], split: str, size: int) -> TaskSet:
    first = FIRST_SEEDS[split]
    found = []
    for name in names:
        if variants := GAMES[name].variants:
            found += [
                Task(FAMILY, f"{name}/{split}/{number}", name, split, first + number, params)
                for number, params in enumerate(variants[split])
            ]
        else:
            found += [Task(FAMILY, f"{name}/{split}/{number}", name, split, first + number) for number in range(size)]
    return TaskSet(tuple(found), f"{FAMILY}/{split}")


@dataclass(frozen=True)
class _Tasks:
    names: tuple[str, ...]
    size: int

    def __call__(self, split: str) -> TaskSet:
        return _tasks(self.names, split, self.size)


@dataclass(frozen=True)
class _Opener:
    settings: str
    opponent: str
    seat: int | None

    def __call__(self, task: Task) -> TextArenaGame:
        game = find(task.type)
        settings = settings_for(game, json.loads(self.settings).get(game.name, {})) | dict(task.params)
        return TextArenaGame(game, settings, task.seed, self.opponent, self.seat if game.seats == 2 else 0)
