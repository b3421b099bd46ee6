"""Where a self-play stands: one small file, replaced as a whole, from which a killed run goes on.

It names the round and the phase, the state of the bank, and the mean success rate that the challenger is told; the
checkpoints follow from the round. What had been asked in a round is kept beside it, in a file of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from metagym.errors import RunError, StoreError
from metagym.journal import sync_folder
from metagym_trainers.sesa.rollouts import Row
from metagym_trainers.sesa.world import Question

Phase = Literal["challenge", "ask", "solve"]
FILE, BANK, RECORDS, ROWS = "selfplay.json", "bank", "records.jsonl", "rows-{}.json"
FORMAT = 1


@dataclass(frozen=True)
class State:
    """Where a run stands: what is named here has not been done yet.

    Attributes:
        settings: Of the run, as JSON; a resumed run must have the same.
        round: From 0; equal to the number of rounds at the end.
        phase: ``challenge``, then ``ask`` (questions, rollouts, cards), then ``solve``.
        bank: ``{"seq", "digest"}`` of the bank before that phase; None without one.
        success: Mean success rate on the last round's questions; None before the first.
    """

    settings: dict[str, Any]
    round: int = 0
    phase: Phase = "challenge"
    bank: dict[str, Any] | None = None
    success: float | None = None


def save_state(folder: Path, state: State) -> None:
    """Replaces the file; after a kill there is the old one or the new one, whole.

    Raises:
        StoreError: The disk refused it.
    """
    write_json(folder / FILE, {"format": FORMAT, **asdict(state)})


def load_state(folder: Path, settings: dict[str, Any]) -> State | None:
    """The state of a folder; None in a new one.

    Raises:
        RunError: It is of another format or of other settings.
        StoreError: It cannot be read.
    """
    path = folder / FILE
    if not path.exists():
        return None
    data = read_json(path)
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
        raise RunError(f"{path} is of another version; start in a new folder")
    try:
        state = State(**data)
    except TypeError as error:
        raise RunError(f"{path} cannot be read: {error}; start in a new folder") from error
    theirs = json.loads(json.dumps(settings))
    if state.settings != theirs:
        changed = sorted(name for name in theirs if state.settings.get(name) != theirs[name])
        raise RunError(
            f"{folder} holds a run with other settings ({', '.join(changed) or 'fewer'} differ): resume with the same "
            "ones, or start in a new folder"
        )
    return state


def save_rows(path: Path, rows: Sequence[Row]) -> None:
    """Keeps the solver's rows of a round: prompts with their cards, questions and answers.

    Raises:
        StoreError: The disk refused it.
    """
    told = [
        {"id": row.id, "prompt": row.prompt, "question": row.subject.text, "answers": list(row.subject.answers)}
        for row in rows
    ]
    write_json(path, told)


def load_rows(path: Path) -> list[Row]:
    """The inverse of `save_rows`.

    Raises:
        StoreError: It cannot be read.
        RunError: It holds no rows.
    """
    try:
        return [
            Row(one["id"], one["prompt"], Question(one["question"], tuple(one["answers"]), one["id"]))
            for one in read_json(path)
        ]
    except (KeyError, TypeError) as error:
        raise RunError(f"{path} holds no rows of a solver: {error!r}") from error


def write_json(path: Path, value: Any) -> None:
    """Replaces a file by a value, atomically and durably.

    Raises:
        StoreError: The disk refused it.
    """
    draft = path.with_name(f".{path.name}.tmp")
    try:
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=True, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        sync_folder(os.fspath(path.parent))
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error


def read_json(path: Path) -> Any:
    """A file of JSON.

    Raises:
        StoreError: It is absent, unreadable or no JSON.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
