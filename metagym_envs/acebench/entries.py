"""The agent tasks of a checkout, their gold states and milestones, and the names of classes made good."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from metagym.errors import BadInput, NoTasks
from metagym.tasks import Task, TaskSet
from metagym_envs.acebench.checkout import checkout, data_file

FAMILY, SPLIT = "ACEBench", "test"
KINDS = ("multi_step", "multi_turn")

_NUMBERED = "the gold state gives the new reminder number 3, which another has; the official scorer skips this class"
UNREACHABLE: Mapping[str, str] = {"0592cc51c5cbe56b": _NUMBERED, "b490a92e3eeb75e5": _NUMBERED}
"""Tasks of the public data whose gold state no calls reach once every class counts, by their `identity`, and why."""

Gold: TypeAlias = tuple[dict[str, Mapping[str, Any]], dict[str, str], tuple[str, ...]]


@dataclass(frozen=True)
class Entry:
    """One task.

    Attributes:
        kind: ``"multi_step"`` or ``"multi_turn"``.
        id: Its id in the data.
        question: The user's request; for dialogues what the user is told.
        config: Where the back ends start.
        functions: Documents of the functions.
        classes: Back ends, in the order in which calls reach them.
        gold: By class, what its attributes are at the end.
        renamed: Gold names that are no class, and the class that is meant: the official scorer skips these.
        unknown: Gold names that mean no class of the task: its gold state cannot be reached.
        unjudged: Back ends of which the gold state says nothing.
        milestones: One or several lists of calls, as they are written in the data.
    """

    kind: str
    id: str
    question: str
    config: Mapping[str, Any]
    functions: Sequence[Mapping[str, Any]]
    classes: tuple[str, ...]
    gold: Mapping[str, Mapping[str, Any]]
    renamed: Mapping[str, str]
    unknown: tuple[str, ...]
    unjudged: tuple[str, ...]
    milestones: tuple[tuple[str, ...], ...]


@lru_cache(maxsize=16)
def entries(path: str, kind: str) -> tuple[Entry, ...]:
    """The tasks of a kind.

    Raises:
        BadInput: A file is missing or a row is not usable; the message names file and row.
        NoTasks: The file holds no row.
    """
    files = checkout(path)
    where, text = data_file(files, f"data_agent_{kind}.json")
    rows = _rows(where, text)
    answers_at, answers_text = data_file(files, f"possible_answer/data_agent_{kind}.json")
    answers = {str(row.get("id")): row for row in _rows(answers_at, answers_text)}
    if not rows:
        raise NoTasks(f"{where} of {files.name} holds no task")
    found = tuple(_entry(kind, row, answers, f"{where}, row {n}", answers_at) for n, row in enumerate(rows, 1))
    if len({entry.id for entry in found}) != len(found):
        raise BadInput(f"{where} holds an id twice")
    return found


def _rows(where: str, text: str) -> list[dict[str, Any]]:
    """JSON lines, or one JSON list."""
    try:
        found = (
            json.loads(text)
            if text.lstrip().startswith("[")
            else [json.loads(x) for x in text.splitlines() if x.strip()]
        )
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where} is no JSON: {error}") from None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise BadInput(f"{where} is no list of JSON objects")
    return found


def _entry(kind: str, row: dict[str, Any], answers: Mapping[str, Any], where: str, answers_at: str) -> Entry:
    id_ = row.get("id")
    if not isinstance(id_, str) or id_ not in answers:
        raise BadInput(f"{where}: there is no answer to the id {id_!r} in {answers_at}")
    answer = answers[id_]
    classes: Any = row.get("involved_classes")
    _needs(isinstance(row.get("question"), str), where, "'question' is text")
    _needs(isinstance(row.get("initial_config"), dict), where, "'initial_config' is an object")
    _needs(isinstance(row.get("function"), list), where, "'function' is a list of documents")
    named = (
        isinstance(classes, list) and bool(classes) and all(isinstance(c, str) and c.isidentifier() for c in classes)
    )
    _needs(named, where, "'involved_classes' is a list of names of classes")
    gold, renamed, unknown = _gold(answer.get("ground_truth"), classes, f"{answers_at}, {id_}")
    return Entry(
        kind=kind,
        id=id_,
        question=row["question"],
        config=row["initial_config"],
        functions=row["function"],
        classes=tuple(classes),
        gold=gold,
        renamed=renamed,
        unknown=unknown,
        unjudged=tuple(name for name in classes if name not in gold),
        milestones=_milestones(answer.get("mile_stone"), f"{answers_at}, {id_}"),
    )


def _gold(raw: Any, classes: Sequence[str], where: str) -> Gold:
    """The gold state by class, which names had to be made good, and which mean nothing."""
    parts = raw if isinstance(raw, list) else [raw]
    _needs(
        bool(parts) and all(isinstance(part, dict) and part for part in parts),
        where,
        "'ground_truth' is a list of states",
    )
    gold: dict[str, Mapping[str, Any]] = {}
    renamed: dict[str, str] = {}
    unknown: list[str] = []
    for name, state in ((name, state) for part in parts for name, state in part.items()):
        _needs(isinstance(state, dict), where, f"the gold state of {name} is an object")
        known = resolve(name, classes)
        if known is None:
            unknown.append(name)
            continue
        _needs(known not in gold, where, f"the gold state names {known} twice")
        gold[known] = state
        if known != name:
            renamed[name] = known
    return gold, renamed, tuple(unknown)


def resolve(name: str, classes: Sequence[str]) -> str | None:
    """The class that a gold name means: itself, the same in other capitals, or the only one but for one letter."""
    if name in classes:
        return name
    folded = [one for one in classes if one.casefold() == name.casefold()]
    close = folded or [one for one in classes if _one_edit(one.casefold(), name.casefold())]
    return close[0] if len(close) == 1 else None


def _one_edit(left: str, right: str) -> bool:
    """Whether one letter put in, left out or changed makes two texts equal."""
    short, long = sorted((left, right), key=len)
    same = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return long[same + 1 :] in (short[same:], short[same + 1 :]) and len(long) - len(short) <= 1


def _milestones(raw: Any, where: str) -> tuple[tuple[str, ...], ...]:
    """One list of calls, or several of which each is a way."""
    _needs(isinstance(raw, list), where, "'mile_stone' is a list")
    ways = raw if raw and isinstance(raw[0], list) else [raw]
    _needs(
        all(isinstance(way, list) and all(isinstance(x, str) for x in way) for way in ways),
        where,
        "milestones are texts",
    )
    return tuple(tuple(way) for way in ways)


def _needs(holds: bool, where: str, what: str) -> None:
    if not holds:
        raise BadInput(f"{where}: {what}")


def task_set(path: str) -> TaskSet:
    """One task an entry; its parameters tell what it was made of."""
    return TaskSet(
        (
            Task(FAMILY, f"{kind}/{entry.id}", kind, SPLIT, params={"row": n, "sha256": identity(entry)[:16]})
            for kind in KINDS
            for n, entry in enumerate(entries(path, kind))
        ),
        FAMILY,
    )


def entry_of(path: str, task: Task) -> Entry:
    """The entry of a task.

    Raises:
        BadInput: The checkout's data are others than those of the task.
    """
    found = entries(path, task.type) if task.type in KINDS else ()
    n = task.params.get("row")
    entry = found[n] if isinstance(n, int) and 0 <= n < len(found) else None
    if entry is None or identity(entry)[:16] != task.params.get("sha256"):
        raise BadInput(f"task {task.id} is of other data than those of {path}")
    return entry


def identity(entry: Entry) -> str:
    """A task is its request, where it starts, and where it is to end."""
    parts = [entry.kind, entry.question, entry.config, entry.classes, entry.gold]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
