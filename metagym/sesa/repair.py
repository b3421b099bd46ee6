"""A damaged bank, and a bank that is to be taken back to an earlier event. Both keep every byte that was there."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from metagym.checks import whole
from metagym.errors import BadInput, MetaGymError, StoreError
from metagym.journal import Journal, parse_line, sync_folder
from metagym.sesa import files
from metagym.sesa.state import State

SET_ASIDE = "set-aside"
"""Folder of a bank for journals that were taken out of it."""


@dataclass(frozen=True)
class Repaired:
    """What a repair found.

    Attributes:
        kept: Events in the copy.
        dropped: One sentence for each line or event that is not in it.
    """

    kept: int
    dropped: tuple[str, ...]


def repair(path: str | os.PathLike[str], copy: str | os.PathLike[str]) -> Repaired:
    """Writes what is intact of a bank into a new folder; the bank itself is not touched.

    A damaged line is left out, and so is an event that means nothing without it (the use of a card whose adding is
    lost). The rest keeps its order and is numbered anew.

    Args:
        path: The bank. Its manifest must be readable: nothing else says which embedder it was made with.
        copy: A folder that does not exist yet.

    Raises:
        BadInput: `copy` exists.
        StoreError: The bank cannot be read, or the copy not be written.
    """
    folder, target = Path(path), Path(copy)
    manifest = files.read_manifest(folder)
    if os.path.lexists(target):
        raise BadInput(f"{target} exists already; a repair writes into a new folder")
    try:
        lines = (folder / files.JOURNAL).read_bytes().split(b"\n")
    except OSError as error:
        raise StoreError(f"{folder / files.JOURNAL} cannot be read: {error.strerror}") from error
    state, kept, dropped = State(), [], []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            _, event = parse_line(line, "it")
            state.apply(event)
            kept.append((f"{state.seq:08d}", event))
        except MetaGymError as error:
            dropped.append(f"line {number}: {error}; it began {line[:60]!r}")
    try:
        target.mkdir(parents=True)
    except OSError as error:
        raise StoreError(f"{target} cannot be made: {error.strerror}") from error
    files.write_manifest(target, manifest)
    with Journal.open(target / files.JOURNAL, "w") as journal:
        journal.append_many(kept)
    return Repaired(len(kept), tuple(dropped))


def rewind(path: str | os.PathLike[str], seq: int) -> Path | None:
    """Takes a bank back to its state after event `seq`, as a run does that resumes at an earlier step.

    The whole journal and the files of the cards are kept under ``set-aside/``; the bank goes on with its first `seq`
    events. Other processes that have the bank open follow at their next change.

    Args:
        path: The bank; open nowhere in this process.
        seq: Number of the last event to keep, >= 0.

    Returns:
        Where the whole journal stands now; None where nothing came after `seq`.

    Raises:
        BadInput: The bank has fewer events.
        StoreError: It cannot be read or written.
    """
    folder = Path(path)
    whole("seq", seq, 0)
    files.read_manifest(folder)
    lock = files.BankLock(folder, single=False)
    try:
        with lock.held():
            return _rewind(folder, seq)
    finally:
        lock.close()


def _rewind(folder: Path, seq: int) -> Path | None:
    path = folder / files.JOURNAL
    with Journal.open(path) as journal:
        records = [(key, journal.get(key)) for key in journal.keys()[:seq]]
        have = len(journal)
    if seq > have:
        raise BadInput(f"{folder} has {have} events; it cannot be taken back to event {seq}")
    if seq == have:
        return None
    aside = folder / SET_ASIDE
    draft = folder / ".journal.tmp"
    try:
        aside.mkdir(exist_ok=True)
        draft.unlink(missing_ok=True)
        with Journal.open(draft, "w") as journal:
            journal.append_many(records)
        kept = aside / f"journal-{have:08d}-{len(os.listdir(aside)) + 1}.jsonl"
        shutil.copy2(path, kept)
        if (folder / files.CARDS).is_dir():
            os.replace(folder / files.CARDS, aside / f"cards-{kept.stem}")  # a view of what is no more
        sync_folder(os.fspath(aside))
        os.replace(draft, path)
        sync_folder(os.fspath(folder))
    except OSError as error:
        raise StoreError(f"{folder} cannot be taken back: {error.strerror}; it is unchanged") from error
    finally:
        for leftover in (draft, Path(f"{draft}.lock")):
            leftover.unlink(missing_ok=True)
    return kept
