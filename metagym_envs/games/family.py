"""The Games family: TextArena's games as tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from metagym.errors import BadInput, SpecError
from metagym.extras import require
from metagym.families import Family
from metagym.playing.rival import Rival
from metagym.tasks import Task, TaskSet
from metagym_envs.games.catalogue import GAMES, find, settings_for
from metagym_envs.games.env import TextArenaGame
from metagym_envs.games.opponents import STYLES
from metagym_envs.games.text import INSTRUCTIONS, clean

FAMILY = "Games"
BOTH = "both"
FIRST_SEEDS = {"train": 0, "valid": 1_000_000, "test": 2_000_000}


def Games(
    games: Iterable[str] = tuple(GAMES),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    opponent: str = "random",
    seat: int | str | None = None,
    size: int = 100,
    opponent_temperature: float = 0.0,
    opponent_max_tokens: int = 500,
) -> Family:
    """TextArena's games, one task type per game.

    Args:
        games: Names, as in `metagym_envs.games.catalogue.GAMES`. All of them by default.
        settings: By game, what wins over our settings: ``{"Minesweeper": {"num_mines": 6}}``.
        opponent: Who sits in the other seat of games for two: ``"random"`` or ``"careful"`` (scripted), or the spec of
            a chat model, e.g. ``"openai:..."``, asked as the actor is. A step then takes as long as that model.
        seat: The agent's seat in them: 0, 1, ``"both"`` (every start is a task of each seat, so that who begins
            favours nobody), or None, which lets the seed decide.
        size: Games per type and split, told apart by their seeds. TowerOfHanoi, in which a seed changes nothing, has
            3 and 4 disks for training, 5 and 6 held out.
        opponent_temperature: Of a model in the other seat, >= 0.
        opponent_max_tokens: Likewise, the longest reply.

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
    if seat is not None and (isinstance(seat, bool) or seat not in (0, 1, BOTH)):
        raise BadInput(f"a seat is 0, 1, 'both' or None, got {seat!r}")
    other = _opponent(opponent, opponent_temperature, opponent_max_tokens)
    given = {find(name).name: dict(values) for name, values in (settings or {}).items()}
    for name, values in given.items():
        settings_for(find(name), values)
    require("textarena", "games")
    return Family(
        name=FAMILY,
        tasks=_Tasks(names, size, seat == BOTH),
        open=_Opener(json.dumps(given, sort_keys=True), other, None if isinstance(seat, str) else seat),
        splits=tuple(FIRST_SEEDS),
        clean=clean,
        instructions=INSTRUCTIONS,
        max_steps=130,  # above the games' own limits, the largest of which are 101 and 126
        host="thread",  # some starts take tens of milliseconds to make
        versions={"textarena": version("textarena")},
        options={
            "games": list(names),
            "settings": given or None,
            "opponent": opponent,
            "seat": seat,
            "size": size,
            "opponent_temperature": opponent_temperature,
            "opponent_max_tokens": opponent_max_tokens,
        },
    )


def _opponent(opponent: Any, temperature: float, max_tokens: int) -> str | Rival:
    """Who sits in the other seat."""
    if isinstance(opponent, str) and opponent in STYLES:
        return opponent
    try:
        return Rival(opponent, temperature, max_tokens)
    except SpecError as error:
        styles = ", ".join(map(repr, STYLES))
        raise BadInput(f"an opponent is {styles} or the spec of a model, got {opponent!r:.80} ({error})") from error


@lru_cache(maxsize=16)
def _tasks(names: tuple[str, ...], split: str, size: int, both: bool) -> TaskSet:
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
    if both:
        found = [one for task in found for one in _of_both_seats(task)]
    return TaskSet(tuple(found), f"{FAMILY}/{split}")


def _of_both_seats(task: Task) -> list[Task]:
    """A start of a game for two as a task of each seat; a puzzle as it is."""
    if GAMES[task.type].seats == 1:
        return [task]
    return [replace(task, id=f"{task.id}/seat{seat}", params={**task.params, "seat": seat}) for seat in (0, 1)]


@dataclass(frozen=True)
class _Tasks:
    names: tuple[str, ...]
    size: int
    both: bool

    def __call__(self, split: str) -> TaskSet:
        return _tasks(self.names, split, self.size, self.both)


@dataclass(frozen=True)
class _Opener:
    settings: str
    opponent: str | Rival
    seat: int | None

    def __call__(self, task: Task) -> TextArenaGame:
        game = find(task.type)
        params = dict(task.params)
        seat = params.pop("seat", self.seat)
        settings = settings_for(game, json.loads(self.settings).get(game.name, {})) | params
        return TextArenaGame(game, settings, task.seed, self.opponent, seat if game.seats == 2 else 0)
