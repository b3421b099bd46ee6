"""Where ALFWorld's games come from: our own generator, or the published games that ``ALFWORLD_DATA`` names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from metagym.errors import BadInput, NoTasks, UnknownName
from metagym.tasks import Task, TaskSet
from metagym_envs.alfworld import generator
from metagym_envs.alfworld.scenes import TASK_TYPES

FAMILY = "ALFWorld"
VARIABLE = "ALFWORLD_DATA"
WAYS_OUT = (
    f"download the published games with `alfworld-download` (pip install 'metagym-agents[alfworld]') and let "
    f"{VARIABLE} name their folder, or unset {VARIABLE} (or pass data='generated') to play generated games"
)


@dataclass(frozen=True)
class GameText:
    """One game as text: all that an engine needs.

    Attributes:
        id: The task's id.
        problem: PDDL problem text.
        sentence: Task sentence without a final full stop, or the whole line that begins with "Your task is to: ".
        domain: PDDL domain that came with the game; None: the one of the installed engine.
        grammar: Text grammar that came with the game; None: the one of the installed engine.
    """

    id: str
    problem: str
    sentence: str
    domain: str | None = None
    grammar: str | None = None


class Games(Protocol):
    """A source of games. Picklable; what it reads it keeps per process."""

    @property
    def splits(self) -> tuple[str, ...]:
        """Its splits, the training split first."""
        ...

    def __hash__(self) -> int:
        """By value: a cache key."""
        ...

    def tasks(self, split: str) -> TaskSet:
        """The tasks of a split.

        Raises:
            UnknownName: No such split.
        """
        ...

    def game(self, task: Task) -> GameText:
        """The game of a task.

        Raises:
            UnknownName: The task is not of this source.
            BadInput: Its file cannot be read.
        """
        ...

    def describe(self) -> Mapping[str, Any]:
        """What was played, for manifests: ``data``, ``data_digest``, ``games`` (JSON)."""
        ...


def games_for(data: str, environ: Mapping[str, str] | None = None) -> Games:
    """The source that the option `data` asks for. Never falls back from one to the other, never uses a network.

    Args:
        data: ``"generated"``, ``"published"``, or ``"auto"``: published where ``ALFWORLD_DATA`` is set, else generated.
        environ: Environment variables; default ``os.environ``.

    Raises:
        BadInput: No such kind of data, or a file that cannot be read.
        NoTasks: Published games are asked for and there are none; the message names variable, place and ways out.
    """
    if data not in ("auto", "generated", "published"):
        raise BadInput(f"data is 'auto', 'generated' or 'published', got {data!r}")
    value = (os.environ if environ is None else environ).get(VARIABLE)
    if data == "generated" or (data == "auto" and value is None):
        return GeneratedGames()
    if value is None:
        raise NoTasks(f"data='published' needs {VARIABLE}, which is not set: {WAYS_OUT}")
    if not value.strip():
        raise NoTasks(f"{VARIABLE} is set to an empty text: {WAYS_OUT}")
    from metagym_envs.alfworld.published import published_games

    try:
        place = Path(value.strip()).expanduser()
    except RuntimeError as error:  # no such user, or no home
        raise BadInput(f"{VARIABLE} is {value.strip()!r}, whose ~ stands for no folder ({error}): {WAYS_OUT}") from None
    return published_games(place)


@dataclass(frozen=True)
class GeneratedGames:
    """Our own household games; nothing is generated before it is played."""

    @property
    def splits(self) -> tuple[str, ...]:
        """See `Games`."""
        return tuple(generator.SPLITS)

    def tasks(self, split: str) -> TaskSet:
        """See `Games`."""
        return _generated_tasks(split)

    def game(self, task: Task) -> GameText:
        """See `Games`."""
        head, *rest = task.id.split("/")
        if head != "generated" or len(rest) != 3 or not rest[2].isdecimal() or str(int(rest[2])) != rest[2]:
            raise UnknownName(f"task {task.id!r} is not one of the generated games that this family plays")
        made = generator.generate(rest[0], rest[1], int(rest[2]))
        return GameText(task.id, made.problem, made.sentence)

    def describe(self) -> Mapping[str, Any]:
        """See `Games`."""
        count = sum(generator.SIZES.values()) * len(TASK_TYPES)
        return {
            "data": "generated",
            "generator": generator.GENERATOR,
            "data_digest": generator.fingerprint(),
            "games": count,
        }


@lru_cache(maxsize=8)
def _generated_tasks(split: str) -> TaskSet:
    if split not in generator.SPLITS:
        raise UnknownName(f"generated games have no split {split!r}; they have {', '.join(generator.SPLITS)}")
    # Types take turns, so that a prefix of the set is as mixed as the whole.
    return TaskSet(
        (
            Task(FAMILY, f"generated/{split}/{task_type}/{index}", task_type, split)
            for index in range(generator.SIZES[split])
            for task_type in TASK_TYPES
        ),
        f"{FAMILY} (generated)/{split}",
    )
