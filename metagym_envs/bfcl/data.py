"""The four multi-turn categories: entries with their answers, and the tasks that they are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from metagym.errors import BadInput, BrokenExtra
from metagym.tasks import Task, TaskSet
from metagym_envs.bfcl import package
from metagym_envs.bfcl.calls import Call, python_call

FAMILY = "BFCL"
SPLIT = "test"
CATEGORIES = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
"""The task types, 200 tasks each: plain; a tool is handed over late; a parameter is told late; long tool results."""


@dataclass(frozen=True)
class Entry:
    """One conversation of the benchmark with its answer.

    Attributes:
        id: As the benchmark has it, e.g. ``"multi_turn_base_0"``.
        category: One of `CATEGORIES`.
        turns: What the user says, turn after turn; "" at the turn at which tools are handed over.
        tools: Documents of the tools at the start (JSON Schema, in the benchmark's dialect).
        held: Documents of tools that are handed over at a turn, by the turn's number.
        classes: The back ends, by name.
        config: Their initial state, by name.
        truth: The benchmark's own calls, by turn; () where nothing is to be called.
    """

    id: str
    category: str
    turns: tuple[str, ...]
    tools: tuple[Mapping[str, Any], ...]
    held: Mapping[int, tuple[Mapping[str, Any], ...]]
    classes: tuple[str, ...]
    config: Mapping[str, Any]
    truth: tuple[tuple[Call, ...], ...]

    @property
    def long_context(self) -> bool:
        """Whether tool results are blown up."""
        return self.category.endswith("long_context")

    @property
    def scenario(self) -> str:
        """What the four tasks of one number share: a user's story and most of its answer."""
        return self.id.rpartition("_")[2]


@lru_cache(maxsize=len(CATEGORIES))
def entries(category: str) -> Mapping[str, Entry]:
    """The entries of a category by id, in their order.

    Raises:
        MissingExtra: bfcl-eval is not installed.
        BrokenExtra: Its files are not what they should be.
    """
    asked, answered = (_lines(path) for path in _files(category))
    if [one["id"] for one in asked] != [one["id"] for one in answered]:
        raise BrokenExtra(f"questions and answers of {category} in bfcl_eval {package.release()} have other ids")
    try:
        return {
            one["id"]: _entry(category, one, answer["ground_truth"])
            for one, answer in zip(asked, answered, strict=True)
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BrokenExtra(f"{category} of bfcl_eval {package.release()} cannot be read ({error!r:.200})") from error


def entry(task: Task) -> Entry:
    """The entry that a task is.

    Raises:
        BadInput: It is none of this family's.
    """
    found = entries(task.type).get(task.id) if task.type in CATEGORIES else None
    if found is None:
        raise BadInput(f"task {task.key} is no entry of BFCL's multi-turn categories")
    return found


@lru_cache(maxsize=16)
def task_set(categories: tuple[str, ...]) -> TaskSet:
    """All tasks of some categories."""
    return TaskSet(
        (Task(FAMILY, id_, category, SPLIT) for category in categories for id_ in entries(category)),
        f"{FAMILY}/{SPLIT}",
    )


def check_categories(wanted: Iterable[str] | None) -> tuple[str, ...]:
    """Categories by name; None means all.

    Raises:
        BadInput: There is no such category.
    """
    if wanted is None:
        return CATEGORIES
    names = (wanted,) if isinstance(wanted, str) else tuple(dict.fromkeys(wanted))
    for name in names:
        if name not in CATEGORIES:
            raise BadInput(f"BFCL's multi-turn part has no category {name!r}; it has {', '.join(CATEGORIES)}")
    if not names:
        raise BadInput("categories is an empty list; use None for all of them")
    return names


@lru_cache(maxsize=1)
def digest() -> str:
    """SHA-256 over all files that tasks are made of: questions, answers, documents of the tools."""
    found = hashlib.sha256()
    files = [path for category in CATEGORIES for path in _files(category)]
    for path in (*files, *sorted({_documents(name) for category in CATEGORIES for name in _classes(category)})):
        found.update(f"{path.name}\0".encode() + path.read_bytes())
    return found.hexdigest()


def _classes(category: str) -> Iterator[str]:
    for one in entries(category).values():
        yield from one.classes


def _files(category: str) -> tuple[Path, Path]:
    name = f"BFCL_v4_{category}.json"
    folder = package.root() / "data"
    return folder / name, folder / "possible_answer" / name


def _documents(class_name: str) -> Path:
    names: Mapping[str, str] = package.module(
        "bfcl_eval.constants.executable_backend_config"
    ).MULTI_TURN_FUNC_DOC_FILE_MAPPING
    return package.root() / "data" / "multi_turn_func_doc" / names[class_name]


@lru_cache(maxsize=16)
def _tools(class_name: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(_lines(_documents(class_name)))


def _lines(path: Path) -> list[Any]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise BrokenExtra(f"{path.name} of bfcl_eval {package.release()} cannot be read: {error}") from error


def _entry(category: str, asked: Mapping[str, Any], truth: list[list[str]]) -> Entry:
    tools = [tool for name in asked["involved_classes"] for tool in _tools(name)]
    held: dict[int, tuple[Mapping[str, Any], ...]] = {}
    for turn, names in asked.get("missed_function", {}).items():
        held[int(turn)] = tuple(next(tool for tool in tools if tool["name"] == name) for name in names)
        tools = [tool for tool in tools if tool["name"] not in names]
    return Entry(
        id=asked["id"],
        category=category,
        turns=tuple("\n".join(message["content"] for message in turn) for turn in asked["question"]),
        tools=tuple(tools),
        held=held,
        classes=tuple(asked["involved_classes"]),
        config=asked["initial_config"],
        truth=tuple(tuple(map(python_call, calls)) for calls in truth),
    )
