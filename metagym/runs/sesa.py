"""SESA in run folders: what `metagym sesa run` and `metagym sesa eval` do, for code as well.

A folder holds the manifest, the records, every reply that was paid for, and the skill bank, unless the run was given
another one. A killed run is resumed by doing it again: what has a record is read, what has a paid reply is not asked
again, the rest is done. The bank is first taken back to the state that the records tell.
"""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metagym.chat import aclose
from metagym.chat.accounts import Budget
from metagym.errors import BadInput, MetaGymWarning, RunError
from metagym.runs.folder import RunFolder, base_manifest
from metagym.runs.opening import Layers, check_mode, open_folder
from metagym.sesa.checkpoints import bank_state, checkpoint
from metagym.sesa.config import SesaConfig
from metagym.sesa.crew import Crew, load_scorer
from metagym.sesa.embedders import load_embedder
from metagym.sesa.evaluate import BATCH, EvalConfig, Progress, eval_rows, evaluate, run_card
from metagym.sesa.loop import Event, Loop
from metagym.sesa.materials import Material, load_material
from metagym.sesa.repair import rewind
from metagym.sesa.skills import SkillBank
from metagym.sesa.stand_ins import load_seat
from metagym.sesa.starter import priming_cards

COMMAND = "sesa run"
EVAL_COMMAND = "sesa eval"


async def run_sesa(
    config: SesaConfig,
    path: str | os.PathLike[str],
    *,
    bank: str | os.PathLike[str] | None = None,
    material: Material | None = None,
    resume: bool = False,
    overwrite: bool = False,
    cache_mode: str = "write",
    budget: Budget | None = None,
    workers: int | None = None,
    on_open: Callable[[], None] = lambda: None,
    on_event: Callable[[Event], None] = lambda event: None,
) -> Path:
    """Runs the loop in a run folder.

    Args:
        config: Everything that decides the records.
        path: The run folder.
        bank: Folder of the skill bank; None keeps it in the run folder. No two runs may write to one at a time.
        material: The material, where it is loaded already.
        resume: Go on with the run that is there; its settings must be the same.
        overwrite: Throw away the run that is there, and the bank inside of it.
        cache_mode: What the folder's reply cache does: ``write``, ``read``, ``replay-only`` or ``off``.
        budget: Hard limits of calls, tokens and money; a resumed run counts what it has paid already.
        workers: Episodes at a time; None for all of a phase. Does not change the records.
        on_open: Called when the run folder is this process's to write.
        on_event: Told of everything that happens.

    Returns:
        The folder.

    Raises:
        RunError: The folder is in use, its settings differ, or another writer changed the bank.
        StoreError: Folder or bank cannot be used; `EmbedderMismatch` if the bank has another embedder.
        BudgetExceeded, TooManyFailures, ...: The run stopped; what was done and paid is on disk.
    """
    mode = check_mode(cache_mode)
    found = material or load_material(config.material, config.searcher)
    seats = Crew.of(config, found)
    Loop(config, seats, found, None if not config.uses_bank else _NoBank())  # unusable settings fail here
    if config.uses_bank and not resume:
        _check_bank(config, bank)
    versions = {**seats.told(), "material": found.told()}
    await seats.close()
    manifest = {**base_manifest(), "command": COMMAND, "config": config.to_json(), "versions": versions}
    manifest["bank"] = "none" if not config.uses_bank else "own" if bank is None else os.path.abspath(bank)
    with open_folder(Path(path), manifest, resume, overwrite, mode) as folder:
        on_open()
        layers = Layers(folder, mode, budget)
        crew = Crew.of(config, found, **layers.options)
        opened: SkillBank | None = None

        def told(event: Event) -> None:
            if event.seconds:
                folder.note_seconds(event.key, event.seconds)
            on_event(event)

        try:
            if config.uses_bank:
                opened = _bank_of(config, folder, bank)
            await Loop(config, crew, found, opened, folder.records, workers=workers, keep=False, on_event=told).run()
        finally:
            if opened is not None:
                opened.close()
            await layers.close(*(model for _, model in crew.models))
        return folder.path


class _NoBank(SkillBank):
    """Stands for a bank while settings are checked; nothing of it is used."""

    def __init__(self) -> None:
        """Opens nothing."""


def _check_bank(config: SesaConfig, path: str | os.PathLike[str] | None) -> None:
    """Refuses cards, embedders and banks that cannot be used before a folder is made for the run."""
    priming_cards(config)
    if config.embedder is not None:
        load_embedder(config.embedder)
    if path is not None and Path(path, "bank.json").exists():
        SkillBank.open(path, config.embedder, config.dedup, read_only=True).close()


def _bank_of(config: SesaConfig, folder: RunFolder, path: str | os.PathLike[str] | None) -> SkillBank:
    """The bank of a run, in the state that its records tell."""
    where = folder.bank if path is None else Path(path)
    state = checkpoint(folder.records)
    if state is None and path is None and where.exists() and not folder.resumed:
        raise RunError(f"{where} holds a skill bank without a run: choose another folder, or hand the bank in (--bank)")
    if state is None and path is None and (where / "journal.jsonl").exists():
        state = {"seq": 0}  # a run that was killed before its first record
    if state is not None:
        aside = rewind(where, state["seq"])
        if aside is not None:
            warnings.warn(
                f"{where} was taken back to event {state['seq']}, where the records end; what came after it is done "
                f"again, and stands in {aside}",
                MetaGymWarning,
                stacklevel=3,
            )
    return SkillBank.open(where, config.embedder, config.dedup)


async def eval_sesa(
    config: EvalConfig,
    path: str | os.PathLike[str],
    *,
    bank: str | os.PathLike[str] | None = None,
    state_of: str = "",
    material: Material | None = None,
    resume: bool = False,
    overwrite: bool = False,
    cache_mode: str = "write",
    budget: Budget | None = None,
    workers: int | None = None,
    batch: int = BATCH,
    on_open: Callable[[], None] = lambda: None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Path:
    """Evaluates a solver in a run folder of its own.

    Args:
        config: Everything that decides the records.
        path: The run folder.
        bank: Folder of the skill bank; opened for reading, and only where a deployment reads it.
        state_of: Which state of the bank this is, in words (``primed``, ``after round 7``), for the report.
        material: The material, where it is loaded already.
        resume: Go on with the evaluation that is there.
        overwrite: Throw away what is there.
        cache_mode: As for `run_sesa`.
        budget: Likewise.
        workers: Episodes at a time; does not change the records.
        batch: Questions at a time; does not change the records.
        on_open: Called when the folder is this process's to write.
        on_progress: Told of each batch.

    Returns:
        The folder.

    Raises:
        BadInput, RunError, StoreError, ...: As for `run_sesa` and `metagym.sesa.evaluate.evaluate`.
    """
    mode = check_mode(cache_mode)
    found = material or load_material(config.material, config.searcher)
    rows = eval_rows(config, found)
    solver = load_seat(config.solver, "solver", found.passages, config.seed)
    card = run_card(config, rows, found.searcher, load_scorer(config.scorer, config.judge, config.seed))
    opened = _reading(bank) if config.reads_bank else None
    try:
        versions: dict[str, Any] = {
            "solver": {"id": solver.id, "backend": solver.backend},
            "material": found.told(),
            "bank": None if opened is None else {**bank_state(opened), "active": len(opened), "state": state_of},
        }
        manifest = {**base_manifest(), "command": EVAL_COMMAND, "config": config.to_json(), "versions": versions}
        with open_folder(Path(path), {**manifest, "card": card}, resume, overwrite, mode) as folder:
            on_open()
            layers = Layers(folder, mode, budget)
            player = load_seat(config.solver, "solver", found.passages, config.seed, **layers.options)
            scorer = load_scorer(config.scorer, config.judge, config.seed, **layers.options)

            def told(progress: Progress) -> None:
                if progress.seconds:
                    folder.note_seconds(progress.key, progress.seconds)
                on_progress(progress)

            try:
                await evaluate(
                    config,
                    rows,
                    player,
                    found.searcher,
                    scorer,
                    opened,
                    folder.records,
                    workers=workers,
                    batch=batch,
                    on_progress=told,
                )
            finally:
                judge = () if scorer.judge is None else (scorer.judge.model,)
                await layers.close(player, *judge)
            return folder.path
    finally:
        await aclose(solver)
        if opened is not None:
            opened.close()


def _reading(bank: str | os.PathLike[str] | None) -> SkillBank:
    if bank is None:
        raise BadInput("these deployments read a skill bank, and none was named (--bank)")
    return SkillBank.open(bank, read_only=True)


def run_sesa_sync(config: SesaConfig, path: str | os.PathLike[str], **options: Any) -> Path:
    """The ordinary twin of `run_sesa`."""
    return asyncio.run(run_sesa(config, path, **options))


def eval_sesa_sync(config: EvalConfig, path: str | os.PathLike[str], **options: Any) -> Path:
    """The ordinary twin of `eval_sesa`."""
    return asyncio.run(eval_sesa(config, path, **options))
