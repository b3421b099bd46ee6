"""SPADE in run folders: what `metagym spade run` and `metagym spade pool` do, for code as well.

A folder holds the manifest, the records, the environment memory, and every reply that was paid for. A killed run is
resumed by doing it again: what has a record is read, what has a paid reply is not asked again, the rest is done.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from metagym.chat.accounts import Budget
from metagym.chat.types import ChatModel
from metagym.errors import BadInput, NoTasks
from metagym.playing.remote import RemotePool
from metagym.runs.folder import RunFolder, base_manifest
from metagym.runs.opening import Layers, check_mode, open_folder
from metagym.runs.spade_results import load_spade
from metagym.sandbox import SandboxPool
from metagym.spade.config import SpadeConfig
from metagym.spade.hosts import staged
from metagym.spade.loop import Event, Loop
from metagym.spade.memory import EnvMemory
from metagym.spade.pool import FixedPool, load_pool, write_pool
from metagym.spade.remote import staged_on
from metagym.spade.seating import Seats
from metagym.spade.validation import VERSION, ValidationReport, ValidationSettings, validate
from metagym.spade.workshop import Workshop

COMMAND = "spade run"


def versions(workshop: Workshop) -> dict[str, Any]:
    """What a manifest says of a run beside its settings: seats, validator, corpus or pool."""
    documents, pool = workshop.documents, workshop.pool
    source = None if documents is None else documents.source
    return {
        **workshop.seats.told(),
        "validator": VERSION,
        "reward": workshop.reward.to_json(),
        "corpus": None
        if source is None
        else {"name": source.name, "fingerprint": source.fingerprint, "documents": len(source)},
        "pool": None if pool is None else {"name": pool.name, "digest": pool.digest, "programs": len(pool.programs)},
    }


async def run_spade(
    config: SpadeConfig,
    path: str | os.PathLike[str],
    *,
    resume: bool = False,
    overwrite: bool = False,
    cache_mode: str = "write",
    budget: Budget | None = None,
    workers: int = 2,
    pools: Sequence[SandboxPool] | None = None,
    cluster: RemotePool | None = None,
    on_open: Callable[[], None] = lambda: None,
    on_event: Callable[[Event], None] = lambda event: None,
) -> Path:
    """Runs the loop in a run folder.

    Args:
        config: Everything that decides the records.
        path: The run folder.
        resume: Go on with the run that is there; its settings must be the same.
        overwrite: Throw away the run that is there.
        cache_mode: What the folder's reply cache does: ``write``, ``read``, ``replay-only`` or ``off``.
        budget: Hard limits of calls, tokens and money; a resumed run counts what it has paid already.
        workers: Programs that are worked on at a time; does not change the records.
        pools: Sandboxes, see `metagym.spade.workshop.Workshop`.
        cluster: Workers on whose nodes programs are played, each in a sandbox there; does not change the records.
        on_open: Called when the run folder is this process's to write.
        on_event: Told of everything that happens.

    Returns:
        The folder.

    Raises:
        RunError: The folder is in use, or its settings differ.
        SandboxUnavailable: There is no sandbox here; no program was run.
        BudgetExceeded, TooManyFailures, ...: The run stopped; what was played and paid is on disk.
    """
    mode = check_mode(cache_mode)
    found = versions(Workshop(config, Seats.of(config), pools=pools))  # unusable settings fail here
    manifest = {**base_manifest(), "command": COMMAND, "config": config.to_json(), "versions": found}
    with open_folder(Path(path), manifest, resume, overwrite, mode) as folder:
        on_open()
        layers = Layers(folder, mode, budget)
        seats = Seats.of(config, **layers.options)

        def told(event: Event) -> None:
            if event.seconds:
                folder.note_seconds(event.key, event.seconds)
            on_event(event)

        try:
            with EnvMemory.open(folder.memory, "w", config.memory_settings) as memory:
                workshop = Workshop(config, seats, pools=pools, stage=staged if cluster is None else staged_on(cluster))
                await Loop(workshop, folder.records, memory, workers=workers, on_event=told).run()
        finally:
            models = (seats.agent, seats.designer, seats.hinter, seats.auditor)
            await layers.close(*(model for model in models if isinstance(model, ChatModel)))
        return folder.path


# --- fixed pools


def judged(
    sources: Sequence[str | bytes],
    settings: ValidationSettings | None = None,
    told: Callable[[ValidationReport], None] | None = None,
) -> list[ValidationReport]:
    """The verdicts on some programs, each also beside those accepted before it."""
    settings = settings or ValidationSettings()
    reports: list[ValidationReport] = []
    for source in sources:
        known = [report.fingerprint for report in reports if report.ok and report.fingerprint is not None]
        reports.append(validate(source, settings=settings, known=known))
        if told is not None:
            told(reports[-1])
    return reports


def build_pool(
    sources: Sequence[str | bytes],
    folder: str | os.PathLike[str],
    settings: ValidationSettings | None = None,
    told: Callable[[ValidationReport], None] | None = None,
) -> tuple[FixedPool, list[ValidationReport]]:
    """Validates programs and writes those that are accepted as a fixed pool.

    Args:
        sources: The programs; bytes as files have them, whatever their encoding.
        folder: A new or empty folder.
        settings: How strict.
        told: Given each verdict.

    Raises:
        NoTasks: None is accepted; nothing was written.
        BadInput, StoreError: The folder cannot be used.
    """
    _free(folder)
    reports = judged(sources, settings, told)
    accepted = [source for source, report in zip(sources, reports, strict=True) if report.ok]
    if not accepted:
        first = next((str(report) for report in reports), "there is no program")
        raise NoTasks(f"no program was accepted, so there is no pool to write; the first: {first}")
    return write_pool(folder, accepted), reports


def export_pool(
    run: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    skill: str | None = None,
    least: float = 0.0,
    most: float = 1.0,
) -> FixedPool:
    """Writes the accepted programs of a run, or of a memory file, as a fixed pool.

    Args:
        run: A run folder, or the file of an environment memory.
        folder: A new or empty folder.
        skill: Only programs of this skill.
        least: Only programs of at least this win rate without the hint; above 0 unmeasured ones are left out.
        most: Only programs of at most this win rate; below 1 unmeasured ones are left out.

    Raises:
        NoTasks: No program is left.
        BadInput, RunError, StoreError: Run or folder cannot be used.
    """
    _free(folder)
    root = Path(run)
    with EnvMemory.open(root if root.is_file() else _memory_of(root)) as memory:
        views = memory.snapshot().all_views

    def fits(rate: float | None) -> bool:
        return (least <= 0 and most >= 1) if rate is None else least <= rate <= most

    chosen = [view.record.source for view in views if skill in (None, view.skill) and fits(view.p0)]
    if not chosen:
        raise NoTasks(f"{root} holds {len(views)} accepted programs, and none of them fits")
    return write_pool(folder, chosen)


def check_fixed_pool(
    folder: str | os.PathLike[str], settings: ValidationSettings | None = None
) -> list[tuple[str, ValidationReport]]:
    """Holds a pool against its digests and validates every program anew; title and verdict of each."""
    programs = load_pool(folder).programs
    reports = judged([program.source for program in programs], settings)
    return [(program.title, report) for program, report in zip(programs, reports, strict=True)]


def _memory_of(root: Path) -> Path:
    with RunFolder.open(root) as folder:
        return folder.memory


def _free(folder: str | os.PathLike[str]) -> None:
    root = Path(folder)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise BadInput(f"{root} is not an empty folder; choose another one for the pool")


def run_spade_sync(config: SpadeConfig, path: str | os.PathLike[str], **options: Any) -> Path:
    """The ordinary twin of `run_spade`."""
    return asyncio.run(run_spade(config, path, **options))


__all__ = [
    "build_pool",
    "check_fixed_pool",
    "export_pool",
    "judged",
    "load_spade",
    "run_spade",
    "run_spade_sync",
    "versions",
]
