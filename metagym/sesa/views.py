"""What a bank writes beside its journal and can always write again: the cards as files, the vectors as a cache."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from metagym.errors import MetaGymWarning, StoreCorrupt, StoreError
from metagym.sesa.embedders import Vectors
from metagym.sesa.files import CARDS, VECTORS, write_atomically
from metagym.sesa.skillmd import MAX_BYTES, content_of, write_skill
from metagym.sesa.state import BankEntry, State

_MARK = ".view"


class BankWarning(MetaGymWarning):
    """Something about a skill bank that a person should look at; nothing is lost."""


def card_text(entry: BankEntry) -> str:
    """The file of a card: the card, what became of it, and what it was merged from."""
    facts = {"status": entry.status, "uses": str(entry.uses), "wins": str(entry.wins)}
    if entry.last_used_step is not None:
        facts["last_used_step"] = str(entry.last_used_step)
    facts |= {key: value for key, value in (("replaced_by", entry.replaced_by), ("why", entry.why)) if value}
    return write_skill(entry.card, **facts)


def card_file(folder: Path, id_: str) -> Path:
    """Where the file of a card stands."""
    return folder / CARDS / f"{id_}.md"


def marked(folder: Path) -> tuple[int, str]:
    """The event up to which the files of the cards are written: its number and the bank's digest there."""
    try:
        seq, digest = (folder / CARDS / _MARK).read_text("ascii").split()
        return int(seq), digest
    except (OSError, ValueError):
        return 0, ""


def check_view(folder: Path, state: State) -> None:
    """Refuses an empty journal beside cards.

    Raises:
        StoreCorrupt: The journal lost everything, or the folder of the cards is a link to elsewhere.
    """
    cards = folder / CARDS
    if cards.is_symlink():
        raise StoreCorrupt(f"{cards} is a symbolic link; a bank writes into no folder but its own")
    if state.seq == 0 and (seq := marked(folder)[0]):
        raise StoreCorrupt(
            f"{folder} has an empty journal (0 events) beside cards of {seq} events: restore journal.jsonl from "
            f"a copy, or import {cards} into a new bank"
        )


def write_cards(folder: Path, state: State) -> list[str]:
    """Writes the files of the changed cards; the lock is held.

    A file whose content a person changed is left alone and reported: importing it makes a new card of it.

    Returns:
        Ids whose files were left alone.
    """
    cards = folder / CARDS
    try:
        cards.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{cards} cannot be made: {error.strerror}") from error
    edited = []
    for id_ in sorted(state.changed):
        path, text = card_file(folder, id_), card_text(state.entries[id_])
        present = _present(path)
        if present is not None and content_of(present) != content_of(text):
            edited.append(id_)
        elif present != text:
            write_atomically(path, text.encode("utf-8"))
    write_atomically(cards / _MARK, f"{state.seq} {state.digest}\n".encode("ascii"))
    state.changed = set(edited)
    if edited:
        warnings.warn(
            f"{len(edited)} card file{'s were' if len(edited) > 1 else ' was'} edited by hand and left alone, e.g. "
            f"{card_file(folder, edited[0])}: `metagym skills import {folder} {cards}` takes the edits in",
            BankWarning,
            stacklevel=3,
        )
    return edited


def _present(path: Path) -> str | None:
    """The text of a card's file; None where there is none of ours to be lost."""
    try:
        if path.is_symlink() or os.path.getsize(path) > MAX_BYTES * 4:
            return None
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def write_vectors(folder: Path, embedder: str, ids: Sequence[str], rows: Vectors) -> None:
    """Writes the cache of the vectors; the lock is held."""
    out = io.BytesIO()
    np.savez(out, vectors=rows, key=np.frombuffer(_key(embedder, ids).encode("ascii"), dtype=np.uint8))
    write_atomically(folder / VECTORS, out.getvalue())


def read_vectors(folder: Path, embedder: str, dim: int, ids: Sequence[str]) -> Vectors:
    """The cached vectors of the first cards; no rows where the cache is absent, damaged or of another bank."""
    none: Vectors = np.zeros((0, dim), dtype=np.float32)
    try:
        with open(folder / VECTORS, "rb") as file, np.load(file, allow_pickle=False) as found:
            rows, key = found["vectors"], found["key"].tobytes()
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return none
    fits = rows.dtype == np.float32 and rows.ndim == 2 and rows.shape[1] == dim and len(rows) <= len(ids)
    if not fits or key != _key(embedder, ids[: len(rows)]).encode("ascii") or not np.isfinite(rows).all():
        return none
    return rows


def _key(embedder: str, ids: Sequence[str]) -> str:
    return hashlib.sha256(f"{embedder}:{','.join(ids)}".encode()).hexdigest()
