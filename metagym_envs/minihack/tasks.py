"""The tasks: levels with seeds, by split; and levels of one's own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from metagym.errors import BadInput, NoTasks, UnknownName
from metagym.tasks import Task, TaskSet
from metagym_envs.minihack.engine import check_des
from metagym_envs.minihack.levels import POOL, STAIRS, Level, find_level, level_of

FAMILY = "MiniHack"
TRAIN_SEEDS = 10_000
"""Training plays seeds 0 to 9,999, validation 10,000 to 10,099."""
VALID_SEEDS = 100
_LONGEST_DES = 200_000
_WAY_OUT = re.compile(r"^[^#\n]*\bSTAIR\s*:[^\n]*\bdown\b", re.MULTILINE)
_BASES = {"skill": "MiniHack-Skill-Custom-v0", "navigation": "MiniHack-Navigation-Custom-v0"}


@dataclass(frozen=True)
class Levels:
    """The levels of a family, by task type. Picklable.

    Attributes:
        seen: Levels of the types that training plays.
        held_out: Levels of the types kept out of it; empty where one's own levels are played.
        per_type: Training tasks of each type.
    """

    seen: tuple[Level, ...]
    held_out: tuple[Level, ...]
    per_type: int

    @property
    def splits(self) -> tuple[str, ...]:
        """The training split first."""
        return ("train", "valid_seen", "valid_unseen") if self.held_out else ("train", "valid")

    def tasks(self, split: str) -> TaskSet:
        """The tasks of a split.

        Raises:
            UnknownName: No such split.
        """
        return _task_set(self, split)

    @cached_property
    def _by_id(self) -> dict[str, Level]:
        return {level.id: level for level in (*self.seen, *self.held_out)}

    def level(self, task: Task) -> Level:
        """The level of a task, whose id is ``<level id>:<seed>``.

        Raises:
            UnknownName: It is not one of this family's.
        """
        try:
            return self._by_id[task.id.rpartition(":")[0]]
        except KeyError:
            raise UnknownName(f"task {task.id!r} is of no level that this family plays") from None

    @property
    def digest(self) -> str:
        """A digest of what is played: ids and texts of the levels."""
        text = "\n".join(f"{level.id}\n{level.des or ''}" for level in (*self.seen, *self.held_out))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=16)
def _task_set(levels: Levels, split: str) -> TaskSet:
    """Equal families share their tasks."""
    if split not in levels.splits:
        raise UnknownName(f"{FAMILY} has no split {split!r}; it has {', '.join(levels.splits)}")
    of = levels.held_out if split == "valid_unseen" else levels.seen
    start, count = (0, levels.per_type) if split == "train" else (TRAIN_SEEDS, VALID_SEEDS)
    return TaskSet(_spread(of, split, start, count), f"{FAMILY}/{split}")


def _spread(levels: Sequence[Level], split: str, start: int, count: int) -> list[Task]:
    """`count` seeds for each type, which its levels share in turn; types take turns, so that a prefix is mixed."""
    types: dict[str, list[Level]] = {}
    for level in levels:
        types.setdefault(level.type, []).append(level)
    return [
        Task(FAMILY, f"{of_type[n % len(of_type)].id}:{start + n}", of_type[0].type, split, start + n)
        for n in range(count)
        for of_type in types.values()
    ]


def whole_from_1(value: object) -> bool:
    """Whether a setting is a whole number, 1 or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def choose_levels(levels: str | Sequence[str] | None, per_type: int, commands: str, goal: str | None) -> Levels:
    """The levels that a family plays.

    Args:
        levels: None for the default pool; else ids of MiniHack, ``.des`` files, or folders of them.
        per_type: Training tasks of each type, 1 to 10,000.
        commands: ``"skill"`` or ``"navigation"``: commands and character of one's own levels.
        goal: The task's sentence for one's own levels; None means the staircase.

    Raises:
        BadInput: A level cannot be played, read or compiled.
        UnknownName: There is no such level.
        NoTasks: A folder holds none, or none is named.
    """
    if not whole_from_1(per_type) or per_type > TRAIN_SEEDS:
        raise BadInput(f"tasks_per_type is 1 to {TRAIN_SEEDS}, since training plays seeds from 0 on, got {per_type!r}")
    if commands not in _BASES:
        raise BadInput(f"commands is 'skill' or 'navigation', got {commands!r}")
    if levels is None:
        return Levels(_pool(held_out=False), _pool(held_out=True), per_type)
    names = [levels] if isinstance(levels, str) else list(levels) if isinstance(levels, Iterable) else [levels]
    if not all(isinstance(name, str) for name in names):
        raise BadInput(f"levels are ids of MiniHack, .des files or folders of them, got {levels!r:.100}")
    found = [level for name in names for level in _named(name, commands, goal)]
    if not found:
        raise NoTasks("levels names no level: give ids of MiniHack, .des files or folders of them, or leave it out")
    twice = {level.id for level in found if sum(other.id == level.id for other in found) > 1}
    if twice:
        raise BadInput(f"level {sorted(twice)[0]} is named twice")
    return Levels(tuple(found), (), per_type)


def _pool(held_out: bool) -> tuple[Level, ...]:
    return tuple(level_of(kind, name) for kind in POOL if kind.held_out is held_out for name in kind.levels)


def _named(name: str, commands: str, goal: str | None) -> list[Level]:
    path = Path(name).expanduser()
    if path.is_dir():
        files = sorted(path.glob("*.des"))
        if not files:
            raise NoTasks(f"folder {name} holds no .des file")
        return [_own(file, commands, goal) for file in files]
    if path.suffix == ".des":
        return [_own(path, commands, goal)]
    return [find_level(name)]


def _own(path: Path, commands: str, goal: str | None) -> Level:
    """A level of one's own, compiled once so that a fault is told before anything is played."""
    try:
        des = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"level {path} cannot be read as UTF-8 text: {error}") from error
    if not des.strip() or len(des) > _LONGEST_DES:
        raise BadInput(f"level {path} is {'empty' if not des.strip() else f'longer than {_LONGEST_DES} characters'}")
    check_des(str(path), des)
    if not _WAY_OUT.search(des):
        raise BadInput(f"level {path} has no staircase down, which alone is success: add one, as in STAIR:(3,1),down")
    return Level(f"custom/{path.stem}", path.stem, goal or STAIRS, des, _BASES[commands])
