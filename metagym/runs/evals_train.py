"""What a model was trained on, read from run folders, skill banks and files of rows, for the contamination guard."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metagym.checks import shown
from metagym.errors import BadInput
from metagym.evaluation.contamination import Training
from metagym.runs.folder import MANIFEST, RunFolder
from metagym.runs.results import EVAL, load_results
from metagym.runs.sesa_results import is_sesa, load_sesa
from metagym.sesa.skills import SkillBank
from metagym.tasks import Task

TEXTS = ("prompt", "question", "problem", "Question", "instruction", "input", "text")
"""Fields of a row that hold a question, as text or as a list of messages."""
TALKS = ("messages", "conversations")
"""Fields of a row that hold a list of messages."""


def read_training(path: str | os.PathLike[str]) -> Training:
    """Reads what something was trained on.

    Args:
        path: One of these:
            a run folder (the tasks of ICT's batches, held-out ones excepted; the questions and the bank of SESA);
            a folder of a skill bank (the questions that its cards were learnt from);
            a file of JSON lines: rows of ``metagym ict collect``, or objects with ``task``, ``tasks``, ``key``, or a
            field of `TEXTS` or `TALKS`.

    Raises:
        BadInput: It is none of them, or a row of it names no task or question.
        RunError, StoreError: The run or the bank cannot be read.
    """
    where = Path(path)
    if where.is_dir():
        if (where / "bank.json").is_file():
            return Training(str(where), digests=_of_bank(where))
        if (where / MANIFEST).is_file():
            return _of_run(where)
        raise BadInput(f"{where} is neither a run folder nor a skill bank, so what it was trained on cannot be read")
    return _of_rows(where)


def _of_bank(folder: Path) -> frozenset[str]:
    with SkillBank.open(folder, read_only=True) as bank:
        return frozenset(e.card.question_sha256 for e in bank.entries() if e.card.question_sha256)


def _of_run(path: Path) -> Training:
    with RunFolder.open(path) as folder:
        command = str(folder.manifest.get("command", ""))
        if command in ("eval", "sesa eval"):
            raise BadInput(f"{path} is a run of {command!r}: nothing was trained there")
        if is_sesa(folder.manifest):
            results = load_sesa(folder)
            asked = tuple(dict.fromkeys(slot.question for slot in results.slots if slot.question))
            own = folder.bank
            bank = _of_bank(own) if (own / "bank.json").is_file() else frozenset()
            found = Training(str(path), digests=bank, texts=asked)
        else:
            played = load_results(folder).played
            tasks = dict.fromkeys(item.episode.task for item in played if item.phase != EVAL)
            found = Training(str(path), tasks=tuple(tasks))
    if found.empty:
        raise BadInput(f"{path} is a run of {command!r} in which no task or question of training is recorded")
    return found


def _of_rows(path: Path) -> Training:
    tasks: dict[Task, None] = {}
    keys: set[str] = set()
    texts: dict[str, None] = {}
    for where, row in _rows(path):
        listed = row.get("tasks", [])
        for one in [*(listed if isinstance(listed, list) else []), row.get("task")]:
            if isinstance(one, Mapping):
                try:
                    tasks[Task.from_json(one)] = None
                except BadInput as error:
                    raise BadInput(f"{where}: {error}") from None
        named = [value for value in (row.get("key"), row.get("task")) if isinstance(value, str) and value]
        keys.update(named)
        if "tasks" in row:  # rows of ICT's reflector hold tasks; their messages are about episodes
            continue
        said = [text for text in _texts(row) if text.strip()]
        texts.update(dict.fromkeys(said))
        if not (said or named or isinstance(row.get("task"), Mapping)):  # else a test question could stand unread
            fields = ", ".join(("task", "tasks", "key", *TALKS, *TEXTS))
            raise BadInput(f"{where} names no task and no question; the fields that are read are {fields}")
    found = Training(str(path), tuple(tasks), frozenset(keys), texts=tuple(texts))
    if found.empty:
        raise BadInput(f"no row of {path} names a task or a question")
    return found


def _texts(row: Mapping[str, Any]) -> Iterator[str]:
    for name in TEXTS:
        value = row.get(name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _said(value)
    for name in TALKS:
        if isinstance(row.get(name), list):
            yield from _said(row[name])


def _said(messages: list[Any]) -> Iterator[str]:
    """What is said in a conversation, by whomever: a model may have been trained to write the questions, too."""
    for message in messages:
        if isinstance(message, Mapping):
            content = message.get("content", message.get("value"))
            for part in content if isinstance(content, list) else [content]:
                text = part.get("text") if isinstance(part, Mapping) else part
                if isinstance(text, str):
                    yield text


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the training rows {path} cannot be read: {error}") from None
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BadInput(f"{where} is no JSON ({error})") from None
            if not isinstance(row, Mapping):
                raise BadInput(f"{where} is no JSON object, got {shown(row)}")
            yield where, row
