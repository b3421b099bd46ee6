"""The skill bank: cards that only the solver reads, kept so that nothing acknowledged is ever lost.

A bank is a folder: a journal of events is the bank, everything else follows from it (docs/skill_bank.md). Retrieval
never writes; what evaluation opens cannot be written; nothing is deleted, cards only change their status.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from metagym.checks import flag, shown, whole
from metagym.errors import BadInput, DeniedCard
from metagym.sesa.cards import SkillCard, check_digest, one_line, question_sha256
from metagym.sesa.dedup import Added, Duplicate, Outcome, Refused, denied, plan
from metagym.sesa.embedders import Embedder, Vectors, checked
from metagym.sesa.opposites import opposites
from metagym.sesa.snapshots import BankSnapshot, CardRows, FoundCard, search
from metagym.sesa.state import BankEntry
from metagym.sesa.store import BankStore
from metagym.sesa.vectors import close_pairs


class SkillBank:
    """A bank; make one with `SkillBank.open`.

    Its methods may be called from several threads, and several processes may have one bank open.
    """

    def __init__(self, store: BankStore) -> None:
        self._store = store

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._store.path

    @property
    def embedder(self) -> Embedder:
        """What makes its vectors."""
        return self._store.embedder

    @property
    def threshold(self) -> float:
        """Cosine from which two cards are near copies."""
        return self._store.threshold

    @property
    def read_only(self) -> bool:
        """Whether it refuses to change, as in evaluation."""
        return self._store.read_only

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        embedder: str | Embedder | None = None,
        dedup: float | None = None,
        read_only: bool = False,
        single_writer: bool = False,
    ) -> SkillBank:
        """Opens a bank, or makes a new one where a writer names a folder that is absent or empty.

        Args:
            path: The folder.
            embedder: ``"hash"``, ``"wordllama"``, ``"minilm"`` or an `Embedder`. By default the bank's own; ``"hash"``
                for a new one.
            dedup: Cosine in (0, 1] from which two cards are near copies. By default the bank's own; 0.85 for a new one.
            read_only: Change nothing and write no file; works on read-only media. Evaluation opens banks so.
            single_writer: Keep other writers out until `close`, without `flock`: for network file systems on which
                `flock` does not hold between hosts.

        Raises:
            EmbedderMismatch: The bank was made with another embedder.
            BadInput: It was made with another threshold, or an argument is not usable.
            StoreCorrupt: A file of it is damaged; the message names file and line.
            StoreLocked: Another writer holds it.
            StoreError: It cannot be read or written, or is of a newer version.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise BadInput(f"the path of a skill bank is a text or a path, got {shown(path)}")
        flag("read_only", read_only), flag("single_writer", single_writer)
        return cls(BankStore(Path(path), embedder, dedup, read_only, single_writer))

    # --- reading

    def __len__(self) -> int:
        """Number of active cards."""
        with self._store.threads:
            return int(np.count_nonzero(self._store.state.live))

    def __contains__(self, id_: object) -> bool:
        """Whether a card is in the bank, active or not."""
        with self._store.threads:
            return id_ in self._store.state.entries

    @property
    def seq(self) -> int:
        """Number of events so far."""
        return self._store.state.seq

    @property
    def digest(self) -> str:
        """SHA-256 chained over all events; equal digests mean equal banks."""
        return self._store.state.digest

    def entry(self, id_: str) -> BankEntry:
        """A card with what became of it, whatever its status.

        Raises:
            UnknownName: The bank never held it.
        """
        with self._store.threads:
            return self._store.state.entry(id_)

    def entries(self, status: str | None = None) -> list[BankEntry]:
        """All entries in the order of their adding, or those of one status."""
        with self._store.threads:
            return [entry for entry in self._ordered() if status in (None, entry.status)]

    def search(self, query: str, k: int) -> tuple[FoundCard, ...]:
        """The `k` active cards nearest to a query: by falling score, ties by id. Writes nothing.

        Args:
            query: Any text.
            k: How many, >= 0; 0 gives none.
        """
        with self._store.threads:
            table, live, ids = self._store.table, self._store.state.live, self._store.state.ids
            return search(self.embedder, table.rows, table.tiles, live, CardRows(self._store.state, ids), query, k)

    def snapshot(self) -> BankSnapshot:
        """The bank as it is now; see `BankSnapshot`."""
        with self._store.threads:
            table = self._store.table
            entries = tuple(self._ordered())
            return BankSnapshot(self.seq, self.digest, entries, table.rows, table.tiles, self.embedder)

    def refresh(self) -> None:
        """Reads what other processes wrote since; a writer does so at each change anyway."""
        self._store.refresh()

    def vectors(self, ids: Iterable[str]) -> Vectors:
        """The vectors of cards, one row each, in the order of `ids`.

        Raises:
            UnknownName: The bank never held one of them.
        """
        with self._store.threads:
            return self._store.table.rows[[self._store.state.row(id_) for id_ in ids]]

    # --- changing

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keeps every other writer out, over processes, for several changes that belong together.

        Raises:
            BankReadOnly: The bank was opened for reading.
        """
        with self._store.writing():
            yield

    def add(self, card: SkillCard) -> Added | Duplicate:
        """Adds a card; when this returns, the card is on disk.

        Raises:
            DeniedCard: It comes from a question that is kept for evaluation.
            BankReadOnly: The bank was opened for reading.
            StoreError: The disk refused it; the bank is unchanged.
        """
        outcome = self.add_many([card])[0]
        if isinstance(outcome, Refused):
            raise DeniedCard(outcome.why)
        return outcome

    def add_many(self, cards: Iterable[SkillCard]) -> list[Outcome]:
        """Adds cards in their order, with one write and one fsync; earlier cards of the batch count as known.

        Returns:
            For each card `Added`, `Duplicate` or, where it comes from an evaluation question, `Refused`.

        Raises:
            BankReadOnly, StoreError: As for `add`.
        """
        batch = list(cards)
        for card in batch:
            if not isinstance(card, SkillCard):
                raise BadInput(f"a bank takes SkillCards, got {shown(card)}")
        self._store.check_writable()
        if not batch:
            return []
        vectors = checked(self.embedder, [card.text for card in batch])
        with self._store.writing():
            found = plan(batch, vectors, self._store.state, self._store.table, self.threshold)
            self._store.commit(found.events, found.cards, vectors[list(found.rows)])
        return list(found.outcomes)

    def record_use(self, id_: str, won: bool, step: int | None = None) -> None:
        """Counts a rollout that had a card in its prompt; it is on disk when this returns.

        Args:
            id_: The card.
            won: Whether the rollout succeeded.
            step: Step of the run.

        Raises:
            UnknownName: The bank never held it.
        """
        self.record_uses([(id_, won)], step)

    def record_uses(self, uses: Iterable[tuple[str, bool]], step: int | None = None) -> None:
        """`record_use` for many, with one fsync: all are counted or none."""
        made: list[dict[str, Any]] = []
        for id_, won in uses:
            event: dict[str, Any] = {"event": "use", "id": id_, "won": flag("won", won)}
            if step is not None:
                event["step"] = whole("step", step, 0)
            made.append(event)
        with self._store.writing():
            for event in made:
                self._store.state.entry(event["id"])
            self._store.commit(made)

    def retire(self, id_: str, why: str = "by hand", status: str = "retired") -> bool:
        """Takes a card out of retrieval; it stays in the bank, so that it is not learnt again.

        Args:
            id_: The card.
            why: A sentence for people.
            status: ``"retired"``, or ``"evicted"`` where a full bank made room.

        Returns:
            False if it was not active.

        Raises:
            UnknownName: The bank never held it.
            BadInput: `why` is no text that a file can hold.
        """
        why = one_line("why", why, 1000)
        if status not in ("retired", "evicted"):
            raise BadInput(f"status is 'retired' or 'evicted', got {shown(status)}")
        with self._store.writing():
            if self._store.state.entry(id_).status != "active":
                return False
            self._store.commit([{"event": "retire", "id": id_, "status": status, "why": why}])
            return True

    def merge(self, one: str, other: str) -> str:
        """Merges two active cards: the older id stays and takes the other's counts.

        Returns:
            The id that stays.

        Raises:
            UnknownName: The bank never held one of them.
            BadInput: One is not active, they are the same, or the one that would go is hand-written.
        """
        with self._store.writing():
            keep, drop = sorted(
                (self._store.state.entry(one), self._store.state.entry(other)), key=lambda entry: entry.seq
            )
            if keep is drop:
                raise BadInput(f"card {keep.card.id} cannot be merged with itself")
            if drop.card.source == "hand" and keep.card.source != "hand":
                keep, drop = drop, keep  # what a person wrote wins
            if drop.card.source == "hand":
                raise BadInput(f"cards {keep.card.id} and {drop.card.id} are both hand-written; retire one by hand")
            for entry in (keep, drop):
                if entry.status != "active":
                    raise BadInput(f"card {entry.card.id} is {entry.status}; only active cards are merged")
            self._store.commit([{"event": "merge", "keep": keep.card.id, "drop": drop.card.id}])
            return keep.card.id

    def replace(self, id_: str, card: SkillCard) -> Added | Duplicate:
        """Takes in a person's edit of a card: the text is a new, hand-written card, the old one gives way to it.

        Raises:
            UnknownName: The bank never held `id_`.
            DeniedCard: The text comes from a question that is kept for evaluation.
        """
        card = replace(card, source="hand", parents=(id_, *card.parents))
        vectors = checked(self.embedder, [card.text])
        with self._store.writing():
            old = self._store.state.entry(id_)
            if why := denied(card, self._store.state):
                raise DeniedCard(why)
            if card.id in self._store.state.entries:
                return Duplicate(card.id, self._store.state.resolve(card.id), 1.0)
            near = self._near(card, vectors)
            for score, entry in near:
                if entry.card.id != id_ and entry.card.source == "hand":
                    self.retire(id_, f"edited into what {entry.card.id} says")
                    return Duplicate(card.id, entry.card.id, score)
            gone = sorted({entry.card.id for _, entry in near} | ({id_} if old.status == "active" else set()))
            event: dict[str, Any] = {"event": "add", "card": card.to_json()}
            if gone:
                event["supersedes"] = gone
            self._store.commit([event], [card], vectors)
        return Added(card.id, tuple(gone))

    def deny(self, questions: Iterable[str] = (), sha256: Iterable[str] = ()) -> int:
        """Keeps questions for evaluation: no card may come from them, in this run and every later one.

        Args:
            questions: Their texts.
            sha256: Their `metagym.texts.question_sha256`.

        Returns:
            How many are new.

        Raises:
            BadInput: Something is no text, or no digest.
        """
        for name, given in (("questions", questions), ("sha256", sha256)):
            if isinstance(given, (str, bytes)):
                raise BadInput(f"{name} is a list of texts, got one text: {shown(given)}")
        wanted = {check_digest(digest, "sha256") for digest in sha256}
        for question in questions:
            if not isinstance(question, str):
                raise BadInput(f"a question is a text, got {shown(question)}")
            wanted.add(question_sha256(question))
        with self._store.writing():
            fresh = sorted(wanted - self._store.state.denied)
            if fresh:
                self._store.commit([{"event": "deny", "sha256": fresh}])
            return len(fresh)

    def flush(self) -> list[str]:
        """Writes the files of the cards and the cache of the vectors; a read-only bank writes nothing.

        Returns:
            Ids of cards whose files a person edited; they are left alone (see `metagym skills import`).
        """
        return [] if self.read_only else self._store.flush()

    def release(self) -> None:
        """Closes without a flush, as a kill would; nothing acknowledged is lost by it."""
        self._store.release()

    def close(self) -> None:
        """Flushes and closes; a second call does nothing."""
        self._store.close()

    def __enter__(self) -> SkillBank:
        """The bank itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    def _near(self, card: SkillCard, vectors: Vectors) -> list[tuple[float, BankEntry]]:
        """Active cards that a card nearly repeats, nearest first."""
        state = self._store.state
        table = self._store.table
        pairs = close_pairs(vectors, table.rows, self.threshold, table.tiles)
        found = [(score, state.entries[state.ids[row]]) for _, row, score in pairs]
        alike = [pair for pair in found if pair[1].status == "active" and not opposites(card, pair[1].card)]
        return sorted(alike, key=lambda pair: (-pair[0], pair[1].card.id))

    def _ordered(self) -> Iterator[BankEntry]:
        return (self._store.state.entries[id_] for id_ in self._store.state.ids)
