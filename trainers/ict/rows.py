"""Training rows of the reflector: from ``metagym ict collect`` to what `GRPOTrainer` takes.

All that a replay needs travels as one column of JSON text. Nested columns would pass through Arrow, which gives every
row the keys of all rows: a task would come back with parameters that it never had, and be another task.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metagym.checks import flag, shown, whole
from metagym.errors import BadInput
from metagym.extras import require
from metagym.playing.actor import ActorSettings
from metagym.playing.runner import check_prompt
from metagym.seeding import check_seed
from metagym.strictjson import plain_json, strict_json
from metagym.tasks import Task

if TYPE_CHECKING:
    from datasets import Dataset

COMMAND = "metagym ict collect"
"""What makes the rows."""

COLUMNS = (
    "id",
    "messages",
    "system_prompt",
    "family",
    "family_options",
    "tasks",
    "actor_seed",
    "actor",
    "seat",
    "clean",
    "max_steps",
)
"""Columns of a collected row that training needs; see `metagym.ict.collect.collect`."""


@dataclass(frozen=True)
class ReplaySpec:
    """What a candidate prompt is replayed on: the previous batch, as it was played under the prompt in force.

    Attributes:
        row: Id of the row; groups are told apart by it, never by their text.
        system_prompt: The prompt in force.
        family: Registered name.
        family_options: Keyword arguments of its factory.
        tasks: The batch.
        actor_seed: Root of the sampling seeds, the same for all candidates of a row: rewards then compare prompts and
            not luck.
        actor: Spec of the actor that played the batch.
        seat: How the actor is asked.
        clean: Whether the family's cleaning rule is applied.
        max_steps: Cap on inner steps.
    """

    row: str
    system_prompt: str
    family: str
    family_options: Mapping[str, Any]
    tasks: tuple[Task, ...]
    actor_seed: int
    actor: str
    seat: ActorSettings
    clean: bool
    max_steps: int

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> ReplaySpec:
        """Reads the columns of a collected row.

        Raises:
            BadInput: A column is missing or unusable; the message names it and the command that makes rows.
        """
        for name in COLUMNS:
            if name != "messages" and name not in row:
                raise BadInput(f"the row has no column {name!r}; make rows with '{COMMAND}'")
        tasks = row["tasks"]
        if isinstance(tasks, (str, Mapping)) or not isinstance(tasks, Sequence) or not tasks:
            raise BadInput(f"column 'tasks' is a non-empty list of tasks, got {shown(tasks)}; see '{COMMAND}'")
        for name in ("family_options", "seat"):
            if not isinstance(row[name], Mapping):
                raise BadInput(f"column {name!r} is an object, got {shown(row[name])}; see '{COMMAND}'")
        for name in ("id", "family", "actor"):
            if not isinstance(row[name], str):
                raise BadInput(f"column {name!r} is text, got {shown(row[name])}; see '{COMMAND}'")
        try:
            seat = ActorSettings(**row["seat"])
        except TypeError as error:
            raise BadInput(f"column 'seat' holds no settings of an actor's seat: {error}; see '{COMMAND}'") from error
        return cls(
            row=row["id"],
            system_prompt=check_prompt(row["system_prompt"]),
            family=row["family"],
            family_options=dict(row["family_options"]),
            tasks=tuple(Task.from_json(task) for task in tasks),
            actor_seed=check_seed(row["actor_seed"], "column 'actor_seed'"),
            actor=row["actor"],
            seat=seat,
            clean=flag("column 'clean'", row["clean"]),
            max_steps=whole("column 'max_steps'", row["max_steps"], 1),
        )

    def to_text(self) -> str:
        """The replay as JSON text, which is what the dataset's column ``replay`` holds."""
        data = {
            "id": self.row,
            "system_prompt": self.system_prompt,
            "family": self.family,
            "family_options": plain_json(self.family_options, "column 'family_options'"),
            "tasks": [plain_json(task.to_json(), "column 'tasks'") for task in self.tasks],
            "actor_seed": self.actor_seed,
            "actor": self.actor,
            "seat": asdict(self.seat),
            "clean": self.clean,
            "max_steps": self.max_steps,
        }
        return json.dumps(data, ensure_ascii=False, sort_keys=True)

    @cached_property
    def identity(self) -> str:
        """All that decides the episodes of a candidate, i.e. everything but the row's id and the prompt in force."""
        return replace(self, row="", system_prompt="").to_text()

    @cached_property
    def family_key(self) -> str:
        """Family and options as text."""
        return json.dumps([self.family, dict(self.family_options)], sort_keys=True, default=str)

    @cached_property
    def apart(self) -> tuple[tuple[Task, ...], ...]:
        """The tasks that can be played apart from each other with the seeds that they have in the batch.

        A task that stands in the batch twice gets other seeds the second time, and so stays beside the first.
        """
        groups: dict[str, list[Task]] = {}
        for task in self.tasks:
            groups.setdefault(task.key, []).append(task)
        return tuple(map(tuple, groups.values()))

    @staticmethod
    def from_text(text: str) -> ReplaySpec:
        """The inverse of `to_text`; rows of one group share the object.

        Raises:
            BadInput: The text is none of `to_text`.
        """
        return _from_text(text)


@lru_cache(maxsize=4096)
def _from_text(text: str) -> ReplaySpec:
    try:
        row = strict_json(text)
    except (TypeError, ValueError) as error:
        raise BadInput(f"column 'replay' holds {shown(text)}, which is no JSON ({error}); use ict_dataset") from None
    if not isinstance(row, dict):
        raise BadInput(f"column 'replay' holds {shown(text)}, which is no object; use ict_dataset")
    return ReplaySpec.from_row(row)


def training_rows(rows: Iterable[Mapping[str, Any]] | str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Collected rows as the trainer's columns.

    Args:
        rows: Rows of `metagym.ict.collect.collect`, or the JSONL file of ``metagym ict collect``.

    Returns:
        One dict per row: ``prompt`` (messages), ``id`` and ``replay`` (see `ReplaySpec`).

    Raises:
        BadInput: No rows, or one that lacks a column or holds something unusable; the message names row and column.
    """
    found: list[dict[str, Any]] = []
    for where, row in _numbered(rows):
        try:
            if not isinstance(row, Mapping):
                raise BadInput(f"a row is an object, got {shown(row)}; make rows with '{COMMAND}'")
            spec = ReplaySpec.from_row(row)
            found.append({"prompt": _messages(row), "id": spec.row, "replay": spec.to_text()})
        except BadInput as error:
            raise BadInput(f"{where}: {error}") from error
    if not found:
        raise BadInput(f"there are no training rows; make some with '{COMMAND}'")
    return found


def ict_dataset(rows: Iterable[Mapping[str, Any]] | str | os.PathLike[str]) -> Dataset:
    """The dataset of a reflector's training.

    Args:
        rows: Rows of `metagym.ict.collect.collect`, or the JSONL file of ``metagym ict collect``.

    Returns:
        A `datasets.Dataset` with the columns of `training_rows`, for `GRPOTrainer` with a `ReplayReward`.

    Raises:
        BadInput: As `training_rows`.
        MissingExtra: datasets is not installed.
    """
    made: Dataset = require("datasets", "trl").Dataset.from_list(training_rows(rows))
    return made


def _numbered(rows: Iterable[Mapping[str, Any]] | str | os.PathLike[str]) -> Iterable[tuple[str, Any]]:
    """Each row with the words by which an error names it."""
    if not isinstance(rows, (str, os.PathLike)):
        for number, row in enumerate(rows):
            yield f"row {number}", row
        return
    path = Path(rows)
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read as rows ({error}); make them with '{COMMAND}'") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield f"{path}, line {number}", strict_json(line)
            except ValueError as error:
                raise BadInput(f"{path}, line {number} is no JSON: {error}") from None


def _messages(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """The reflector's request, checked."""
    if "messages" not in row:
        raise BadInput(f"the row has no column 'messages'; make rows with '{COMMAND}'")
    messages = row["messages"]
    plain = isinstance(messages, Sequence) and all(
        isinstance(m, Mapping) and isinstance(m.get("role"), str) and isinstance(m.get("content"), str)
        for m in messages
    )
    if not plain or not messages:
        raise BadInput(f"column 'messages' is a list of role and content, got {shown(messages)}; see '{COMMAND}'")
    return [{"role": m["role"], "content": m["content"]} for m in messages]
