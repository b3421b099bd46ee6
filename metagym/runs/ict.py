"""ICT in run folders: what `metagym ict run | collect | eval` do, for code as well.

A folder holds the manifest, the records, and every reply that was paid for. A killed run is resumed by doing it again:
what has a record is read, what has a paid reply is not asked again, and the rest is played.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from metagym.chat.accounts import Budget
from metagym.chat.types import ChatModel
from metagym.errors import StoreError
from metagym.families import Family
from metagym.ict.collect import collect, data_card
from metagym.ict.config import RunConfig, build_family
from metagym.ict.evaluate import EvalConfig, Row, check, evaluate
from metagym.ict.loop import Event, Loop, Seats, memory_records, versions
from metagym.runs.folder import base_manifest, refuse_special, write_atomically
from metagym.runs.opening import Layers, check_mode, open_folder


def _models(seats: Seats) -> tuple[ChatModel, ChatModel]:
    return seats.actor, seats.reflector


def _manifest(command: str, config: RunConfig, found: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What decides the run."""
    return {**base_manifest(), "command": command, "config": config.to_json(), "versions": found, **more}


def _checked(config: RunConfig, hosts: Any, concurrency: int | None) -> tuple[Family, dict[str, Any]]:
    """The family and the versions; unusable settings fail here, before a folder is made."""
    family = build_family(config)
    seats = Seats.of(config, family)
    Loop(config, seats, memory_records(), family=family, hosts=hosts, concurrency=concurrency)
    return family, versions(family, seats)


async def run_ict(
    config: RunConfig,
    path: str | os.PathLike[str],
    *,
    resume: bool = False,
    overwrite: bool = False,
    cache_mode: str = "write",
    budget: Budget | None = None,
    hosts: Any = None,
    concurrency: int | None = None,
    on_open: Callable[[], None] = lambda: None,
    on_event: Callable[[Event], None] = lambda event: None,
) -> Path:
    """Runs the online loop in a run folder.

    Args:
        config: Everything that decides the records.
        path: The run folder.
        resume: Go on with the run that is there; its settings must be the same.
        overwrite: Throw away the run that is there.
        cache_mode: What the folder's reply cache does: ``write``, ``read``, ``replay-only`` or ``off``.
        budget: Hard limits of calls, tokens and money; a resumed run counts what it has paid already.
        hosts: See `metagym.play`.
        concurrency: Episodes at once.
        on_open: Called when the run folder is this process's to write.
        on_event: Told of everything that happens.

    Returns:
        The folder.

    Raises:
        RunError: The folder is in use, or its settings differ.
        BudgetExceeded, TooManyFailures, ...: The run stopped; what was played and paid is on disk.
    """
    mode = check_mode(cache_mode)
    family, found = _checked(config, hosts, concurrency)
    with open_folder(Path(path), _manifest("ict run", config, found), resume, overwrite, mode) as folder:
        on_open()
        models = Layers(folder, mode, budget)
        seats = Seats.of(config, family, **models.options)

        def told(event: Event) -> None:
            if event.seconds:
                folder.note_seconds(event.phase, event.seconds)
            on_event(event)

        loop = Loop(config, seats, folder.records, family=family, hosts=hosts, concurrency=concurrency, on_event=told)
        try:
            await loop.run()
        finally:
            await models.close(*_models(seats))
        return folder.path


async def collect_ict(
    config: RunConfig,
    meta_episodes: int,
    path: str | os.PathLike[str],
    rows_file: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    cache_mode: str = "write",
    budget: Budget | None = None,
    hosts: Any = None,
    concurrency: int | None = None,
    on_open: Callable[[], None] = lambda: None,
    on_event: Callable[[Event], None] = lambda event: None,
) -> tuple[int, Path]:
    """Collects training rows in a run folder and writes them, with a data card, to `rows_file`.

    Args:
        config: See `metagym.ict.collect.collect`.
        meta_episodes: How many meta-episodes to run.
        path: The run folder (records and paid replies).
        rows_file: JSONL file of the rows; the card stands beside it as ``<name>.md``.
        resume: As for `run_ict`.
        overwrite: As for `run_ict`.
        cache_mode: As for `run_ict`.
        budget: As for `run_ict`.
        hosts: As for `run_ict`.
        concurrency: As for `run_ict`.
        on_open: As for `run_ict`.
        on_event: As for `run_ict`.

    Returns:
        Number of rows, and the card's path.
    """
    mode = check_mode(cache_mode)
    config = replace(config, eval_tasks=0)
    family, found = _checked(config, hosts, concurrency)
    card = rows_file.with_name(rows_file.name + ".md") if rows_file.name else rows_file
    for file in (rows_file, card):
        _writable(file)
    manifest = _manifest("ict collect", config, found, meta_episodes=meta_episodes)
    with open_folder(Path(path), manifest, resume, overwrite, mode) as folder:
        on_open()
        models = Layers(folder, mode, budget)
        seats = Seats.of(config, family, **models.options)
        try:
            rows = await collect(
                config,
                meta_episodes,
                seats,
                folder.records,
                hosts=hosts,
                concurrency=concurrency,
                on_event=on_event,
            )
        finally:
            await models.close(*_models(seats))
        folder.records.append("end", {"kind": "end", "meta_episodes": meta_episodes})
    write_atomically(rows_file, "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows))
    write_atomically(card, data_card(config, rows, found))
    return len(rows), card


def _writable(file: Path) -> None:
    """Finds out before anything is paid whether the rows, and their card, can be written.

    Raises:
        StoreError: They cannot.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        refuse_special(file)
        with tempfile.TemporaryFile(dir=file.parent):
            pass
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise StoreError(f"rows cannot be written to {file}: {reason}") from error


async def eval_ict(
    config: EvalConfig,
    path: str | os.PathLike[str],
    *,
    resume: bool = False,
    overwrite: bool = False,
    cache_mode: str = "write",
    budget: Budget | None = None,
    hosts: Any = None,
    concurrency: int | None = None,
    on_open: Callable[[], None] = lambda: None,
    on_event: Callable[[str, int, Event], None] = lambda arm, seed, event: None,
) -> list[Row]:
    """Scores arms side by side in a run folder; see `metagym.ict.evaluate.evaluate`.

    Args:
        config: The arms and how they are scored.
        path: The run folder.
        resume: As for `run_ict`.
        overwrite: As for `run_ict`.
        cache_mode: As for `run_ict`.
        budget: As for `run_ict`.
        hosts: As for `run_ict`.
        concurrency: As for `run_ict`.
        on_open: As for `run_ict`.
        on_event: Told the arm, the seed and what happens.
    """
    mode = check_mode(cache_mode)
    found = check(config, hosts=hosts, concurrency=concurrency)
    settings = {name: value for name, value in config.to_json().items() if name != "run"}
    manifest = _manifest("ict eval", config.run, found, **settings)
    with open_folder(Path(path), manifest, resume, overwrite, mode) as folder:
        on_open()
        models = Layers(folder, mode, budget)
        try:
            rows = await evaluate(
                config,
                folder.records,
                hosts=hosts,
                concurrency=concurrency,
                on_event=on_event,
                **models.options,
            )
        finally:
            await models.close()
        folder.records.append("end", {"kind": "end", "arms": [row.name for row in rows]})
        return rows
