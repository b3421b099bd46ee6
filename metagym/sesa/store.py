"""The machinery of a skill bank: its folder, its locks, its journal, and the state that follows from them."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from metagym.checks import number
from metagym.errors import BadInput, BankReadOnly, StoreCorrupt, StoreError
from metagym.journal import Journal
from metagym.sesa import files, views
from metagym.sesa.cards import SkillCard
from metagym.sesa.embedders import EMBEDDERS, Embedder, Vectors, checked, identity, load_embedder
from metagym.sesa.state import State
from metagym.sesa.vectors import VectorTable

DEDUP = 0.85
"""Cosine from which two cards are near copies; EvolveR's value, and no false merge among SkillRL's 30 search skills."""


class BankStore:
    """An open bank folder; `metagym.sesa.skills.SkillBank` is its public face and documents the arguments.

    Attributes:
        path: The folder.
        embedder: What makes the vectors.
        threshold: Cosine from which two cards are near copies.
        read_only: Whether nothing may be written.
        state: The outcome of all events so far.
        table: One vector per id of ``state.ids``.
        threads: Held by whoever reads or changes the two.
    """

    def __init__(
        self, path: Path, embedder: str | Embedder | None, dedup: float | None, read_only: bool, single: bool
    ) -> None:
        self.path, self.read_only, self._single = path, read_only, single
        self.threads = threading.RLock()
        self._journal: Journal | None = None
        self._inode = 0
        self._cached = 0
        wanted = None if dedup is None else number("dedup", dedup, 0.0, 1.0)
        if wanted == 0:
            raise BadInput("dedup is above 0: at 0 every card is a copy of every other")
        self._lock = None if read_only else _lock_of(path, single)
        try:
            with self._locked():
                self._settle(embedder, wanted)
                self._load()
        except BaseException:
            self.release()
            raise

    def _settle(self, embedder: str | Embedder | None, wanted: float | None) -> None:
        """Makes the manifest of a new bank; checks that of an old one."""
        if not self.read_only and files.is_new(self.path):
            maker = load_embedder("hash" if embedder is None else embedder)
            files.write_manifest(self.path, files.new_manifest(identity(maker), DEDUP if wanted is None else wanted))
        manifest = files.read_manifest(self.path)
        kept = manifest["embedder"]
        if embedder is None and kept["name"] not in EMBEDDERS:
            raise BadInput(
                f"{self.path} was made with an embedder of its own, {kept['name']!r}: hand it in as embedder="
            )
        self.embedder = load_embedder(f"{kept['name']}:{kept['dim']}" if embedder is None else embedder)
        files.check_embedder(self.path, kept, identity(self.embedder))
        self.threshold = manifest["dedup"]["threshold"]
        if wanted is not None and wanted != self.threshold:
            raise BadInput(f"{self.path} was made with the threshold {self.threshold:g} and is opened with {wanted:g}")

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Lock, then all that others wrote: what is decided inside is decided on the newest state."""
        with self.threads:
            self.check_writable()
            with self._locked():
                self._follow()
                self.refresh()
                yield

    def check_writable(self) -> None:
        """Refuses where nothing may be written.

        Raises:
            BankReadOnly: The bank was opened for reading.
            StoreError: It is closed.
        """
        if self.read_only:
            raise BankReadOnly(f"{self.path} was opened for reading, as evaluation does; nothing in it can be changed")
        self._open_journal()

    def commit(
        self,
        events: Sequence[dict[str, Any]],
        cards: Sequence[SkillCard | None] | None = None,
        rows: Vectors | None = None,
    ) -> None:
        """Writes events durably, then takes them in; inside `writing`.

        Args:
            events: Of `metagym.sesa.state`.
            cards: Card of each ``add``, None for other events.
            rows: Vectors of the added cards.
        """
        if not events:
            return
        first = self.state.seq + 1
        self._open_journal().append_many((f"{first + n:08d}", event) for n, event in enumerate(events))
        for event, card in zip(events, cards or [None] * len(events), strict=True):
            self.state.apply(event, card)
        if rows is not None:
            self.table.append(rows)

    def refresh(self) -> None:
        """Takes in what other processes wrote since."""
        with self.threads:
            self._open_journal().refresh()
            for event in self._events():
                self.state.apply(event)
            self._embed_missing()

    def flush(self) -> list[str]:
        """Writes the files of the cards and the cache of the vectors; see `SkillBank.flush`."""
        with self.writing():
            edited = views.write_cards(self.path, self.state)
            if len(self.table) != self._cached:
                views.write_vectors(self.path, self.embedder.sha256, self.state.ids, self.table.rows)
                self._cached = len(self.table)
        return edited

    def close(self) -> None:
        """Flushes and lets go."""
        with self.threads:
            try:
                if self._journal is not None and not self.read_only:
                    self.flush()
            finally:
                self.release()

    def release(self) -> None:
        """Closes journal and lock without a flush."""
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()
        if self._lock is not None:
            self._lock.close()

    # --- loading

    def _load(self) -> None:
        path = self.path / files.JOURNAL
        mode = "r" if self.read_only else "w" if self._single else "shared"
        if self.read_only and not path.exists():
            raise StoreError(f"{path} cannot be read: there is no such file; no card was ever added")
        try:
            before = path.stat().st_size if path.exists() else 0
            self._journal = Journal.open(path, mode)  # type: ignore[arg-type]
            self._inode = path.stat().st_ino
            self._replay()
            lost = before - path.stat().st_size
        except StoreCorrupt as error:
            raise files.describe_damage(path, error) from None
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error
        if not self.read_only and lost > 0:
            warnings.warn(
                f"{path}: its last line was cut short by a kill ({lost} bytes); it was never acknowledged and is gone",
                views.BankWarning,
                stacklevel=5,
            )

    def _replay(self) -> None:
        self.state = state = State()
        seq, digest = views.marked(self.path)
        for event in self._events():
            state.apply(event)
            if state.seq == seq and state.digest == digest:
                state.changed.clear()  # the files of the cards are that new
        views.check_view(self.path, state)
        self.table = VectorTable(self.embedder.dim)
        self.table.append(views.read_vectors(self.path, self.embedder.sha256, self.embedder.dim, state.ids))
        self._cached = len(self.table)
        self._embed_missing()

    def _events(self) -> Iterator[Any]:
        """Events of the journal that the state lacks."""
        journal = self._open_journal()
        while (key := f"{self.state.seq + 1:08d}") in journal:
            yield journal.get(key)
        if len(journal) != self.state.seq:
            raise StoreCorrupt(
                f"{journal.path} holds {len(journal)} records, but event {self.state.seq + 1} is missing"
            )

    def _embed_missing(self) -> None:
        missing = self.state.ids[len(self.table) :]
        if missing:
            self.table.append(checked(self.embedder, [self.state.entries[id_].card.text for id_ in missing]))

    def _follow(self) -> None:
        """Another process may have put another journal into the place of this one (`metagym.sesa.repair.rewind`)."""
        try:
            inode = os.stat(f"{self.path}/{files.JOURNAL}").st_ino
        except OSError as error:
            raise StoreError(f"{self.path / files.JOURNAL} is gone: {error.strerror}") from error
        if inode != self._inode:
            self._open_journal().close()
            self._load()

    def _locked(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self._lock is None else self._lock.held()

    def _open_journal(self) -> Journal:
        if self._journal is None:
            raise StoreError(f"{self.path} is closed")
        return self._journal


def _lock_of(folder: Path, single: bool) -> files.BankLock:
    if not files.is_new(folder):
        files.read_manifest(folder)  # no lock file is left in a folder that is no bank
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made: {error.strerror}") from error
    except ValueError as error:  # a NUL in the name
        raise StoreError(f"{str(folder)!r} is no usable folder name: {error}") from None
    return files.BankLock(folder, single)
