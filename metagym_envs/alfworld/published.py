"""The published ALFWorld games: the folder layout of json_2.1.1, or one file of JSON lines."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from metagym.errors import BadInput, NoTasks, UnknownName
from metagym.tasks import Task, TaskSet
from metagym_envs.alfworld.data import FAMILY, VARIABLE, WAYS_OUT, Games, GameText
from metagym_envs.alfworld.engine import task_line
from metagym_envs.alfworld.scenes import TASK_TYPES

FOLDER = "json_2.1.1"
GAME_FILE = "game.tw-pddl"
SPLITS = ("train", "valid_train", "valid_seen", "valid_unseen")
_SOLVABLE = re.compile(rb'"solvable"\s*:\s*(true|false|null)')
_TAIL = 4096


def published_games(path: Path) -> Games:
    """The games at a place.

    Args:
        path: A ``.jsonl`` or ``.jsonl.xz`` file, the folder ``json_2.1.1``, or the folder that holds it.

    Raises:
        NoTasks: There is nothing, or nothing playable.
        BadInput: It cannot be read.
    """
    try:
        if path.is_file():
            source: Games = FileGames(str(path), path.stat().st_mtime_ns)
        elif path.is_dir():
            root = path / FOLDER if (path / FOLDER).is_dir() else path
            source = FolderGames(str(root), tuple(_stamp(root / split) for split in SPLITS))
        else:
            raise NoTasks(f"{VARIABLE} names {path}, which does not exist: {WAYS_OUT}")
        source.describe()  # reads the index: what is wrong is said now, not in the middle of a run
    except OSError as error:
        raise BadInput(f"{VARIABLE} names {path}, which cannot be read ({error}): {WAYS_OUT}") from error
    return source


def _stamp(folder: Path) -> int:
    return folder.stat().st_mtime_ns if folder.is_dir() else 0


@dataclass(frozen=True)
class _Index:
    """What is known of a place before any game is opened."""

    sets: dict[str, TaskSet]
    digest: str

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits with games. Without ``train``, its published sample ``valid_train`` is trained on."""
        there = tuple(split for split in SPLITS if split in self.sets)
        return there if "train" in there or "valid_train" not in there else ("train", *there)

    def tasks(self, split: str, where: str) -> TaskSet:
        actual = "valid_train" if split == "train" and "train" not in self.sets else split
        if actual not in self.sets:
            raise UnknownName(f"the games at {where} have no split {split!r}; they have {', '.join(self.splits)}")
        return self.sets[actual]

    def describe(self, where: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            "data": "published",
            "data_name": os.path.basename(where),
            "data_digest": self.digest,
            "games": sum(len(tasks) for tasks in self.sets.values()),
        }
        if self.splits != tuple(self.sets) and "train" not in self.sets:
            found["train_is"] = "valid_train"
        return found


def _index(found: list[tuple[str, str, str]], where: str, digest: str) -> _Index:
    """From (split, id, type) of every playable game."""
    if not found:
        raise NoTasks(
            f"{VARIABLE} names {where}, which holds no playable game ({GAME_FILE}, solvable){_hint()}: {WAYS_OUT}"
        )
    sets = {}
    for split in SPLITS:
        tasks = [Task(FAMILY, name, kind, split) for s, name, kind in found if s == split]
        if tasks:
            sets[split] = TaskSet(tasks, f"{FAMILY} (published)/{split}")
    return _Index(sets, digest)


def _hint() -> str:
    # A variable that nobody remembers setting is a riddle, and data="auto" would have played generated games.
    return f" (importing alfworld sets {VARIABLE} where it was unset)" if "alfworld.info" in sys.modules else ""


# --- the folder layout


@dataclass(frozen=True)
class FolderGames:
    """The layout of json_2.1.1: ``<split>/<type>-<objects>-<scene>/trial_<id>/game.tw-pddl``.

    Task ids are the folders of the games, ``<split>/.../trial_<id>``.

    Attributes:
        root: The folder that holds the splits.
        stamps: Modification times of the splits (ns; 0: not there): a changed folder is indexed anew.
    """

    root: str
    stamps: tuple[int, ...]

    @property
    def splits(self) -> tuple[str, ...]:
        """See `Games`."""
        return _folder_index(self).splits

    def tasks(self, split: str) -> TaskSet:
        """See `Games`."""
        return _folder_index(self).tasks(split, self.root)

    def describe(self) -> Mapping[str, Any]:
        """See `Games`; the digest is over the names and sizes of the game files."""
        return _folder_index(self).describe(self.root)

    def game(self, task: Task) -> GameText:
        """See `Games`."""
        tasks = _folder_index(self).sets.get(task.id.split("/", 1)[0])
        if tasks is None:
            raise UnknownName(f"task {task.id!r} is not one of the games under {self.root}")
        tasks.by_id(task.id)
        path = Path(self.root, *task.id.split("/"), GAME_FILE)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            problem, domain, grammar = record["pddl_problem"], record["pddl_domain"], record["grammar"]
            if not all(isinstance(text, str) for text in (problem, domain, grammar)):
                raise TypeError("pddl_problem, pddl_domain and grammar are texts")
            line = task_line(grammar)
            if line is None:
                raise ValueError("its grammar has no task sentence, or several")
            sentence = json.loads(f'"{line}"')
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"game file {path} cannot be read: {type(error).__name__}: {error}") from error
        return GameText(task.id, problem, sentence, domain, grammar)


@lru_cache(maxsize=8)
def _folder_index(games: FolderGames) -> _Index:
    root = Path(games.root)
    found, digest = [], hashlib.sha256()
    for split in SPLITS:
        for folder, below, files in os.walk(root / split):
            below.sort()
            if GAME_FILE not in files:
                continue
            name = Path(folder).relative_to(root).as_posix()
            kind = _type_of(Path(folder), name)
            if kind and _is_solvable(Path(folder, GAME_FILE)):
                found.append((split, name, kind))
                digest.update(f"{name}\0{Path(folder, GAME_FILE).stat().st_size}\n".encode())
    return _index(found, games.root, f"names-sizes-sha256:{digest.hexdigest()}")


def _type_of(folder: Path, name: str) -> str:
    """The task type; "" for what ALFWorld itself leaves out (movable receptacles, sliced things)."""
    if "movable" in name or "Sliced" in name:
        return ""
    parts = name.split("/")
    kind = parts[1].split("-", 1)[0] if len(parts) > 2 else ""
    if kind in TASK_TYPES:
        return kind
    try:
        kind = json.loads((folder / "traj_data.json").read_text(encoding="utf-8"))["task_type"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return kind if kind in TASK_TYPES else ""


def _is_solvable(path: Path) -> bool:
    """Whether the file says ``"solvable": true``. The key stands near the end, so the tail is looked at first."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        found = _SOLVABLE.findall(file.read())
        if not found:
            file.seek(0)
            found = _SOLVABLE.findall(file.read())
    return bool(found) and found[-1] == b"true"


# --- one file


@dataclass(frozen=True)
class FileGames:
    """One file of JSON lines with ``split, name, task_type, task, problem``, plain or xz.

    Task ids are ``<split>/<name>``, as for the folders. Only problems are in it, so the games are played under the
    present grammar.

    Attributes:
        path: The file.
        stamp: Its modification time (ns): a changed file is read anew.
    """

    path: str
    stamp: int

    @property
    def splits(self) -> tuple[str, ...]:
        """See `Games`."""
        return _file_index(self)[0].splits

    def tasks(self, split: str) -> TaskSet:
        """See `Games`."""
        return _file_index(self)[0].tasks(split, self.path)

    def describe(self) -> Mapping[str, Any]:
        """See `Games`; the digest is the file's SHA-256."""
        return _file_index(self)[0].describe(self.path)

    def game(self, task: Task) -> GameText:
        """See `Games`."""
        packed = _file_index(self)[1].get(task.id)
        if packed is None:
            raise UnknownName(f"task {task.id!r} is not one of the games in {self.path}")
        sentence, problem = packed
        return GameText(task.id, zlib.decompress(problem).decode("utf-8"), sentence)


@lru_cache(maxsize=4)
def _file_index(games: FileGames) -> tuple[_Index, dict[str, tuple[str, bytes]]]:
    raw = Path(games.path).read_bytes()
    found, packed = [], {}
    for number, line in enumerate(_lines(games.path, raw), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            split, name, kind = row["split"], row["name"], row["task_type"]
            sentence, problem = row["task"], row["problem"]
            if not all(isinstance(text, str) for text in (split, name, kind, sentence, problem)):
                raise TypeError("split, name, task_type, task and problem are texts")
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{games.path} line {number} is not a game: {type(error).__name__}: {error}") from error
        if split in SPLITS and kind in TASK_TYPES:
            found.append((split, f"{split}/{name}", kind))
            # Twenty times smaller, and a game is opened once.
            packed[f"{split}/{name}"] = (sentence, zlib.compress(problem.encode("utf-8"), 1))
    return _index(found, games.path, f"sha256:{hashlib.sha256(raw).hexdigest()}"), packed


def _lines(path: str, raw: bytes) -> Iterator[bytes]:
    if path.endswith(".jsonl"):
        return iter(raw.splitlines())
    if not path.endswith(".jsonl.xz"):
        raise BadInput(f"{VARIABLE} names the file {path}; a file of games ends in .jsonl or .jsonl.xz: {WAYS_OUT}")
    try:
        return iter(lzma.decompress(raw).splitlines())
    except lzma.LZMAError as error:
        raise BadInput(f"{VARIABLE} names {path}, which is no xz file: {error}") from error
