"""Searching a bank, and a bank as it was at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metagym.checks import shown, whole
from metagym.errors import BadInput
from metagym.sesa.cards import SkillCard
from metagym.sesa.embedders import Embedder, Vectors, checked
from metagym.sesa.state import BankEntry, State
from metagym.sesa.vectors import Tiles, nearest


@dataclass(frozen=True)
class FoundCard:
    """A card that a search found.

    Attributes:
        card: The card.
        score: Cosine to the query, in [-1, 1], rounded to 6 places.
    """

    card: SkillCard
    score: float


@dataclass(frozen=True)
class BankSnapshot:
    """A bank at one moment; nothing that happens later changes it, and nothing in it leads back to the bank.

    Attributes:
        seq: Number of events.
        digest: SHA-256 chained over them; with `seq` it names the state of a bank in reports.
        entries: All entries, in the order of their adding.
    """

    seq: int
    digest: str
    entries: tuple[BankEntry, ...]
    _rows: Vectors
    _tiles: Tiles
    _embedder: Embedder

    @property
    def active(self) -> tuple[BankEntry, ...]:
        """Entries that retrieval sees."""
        return tuple(entry for entry in self.entries if entry.status == "active")

    def search(self, query: str, k: int) -> tuple[FoundCard, ...]:
        """As `SkillBank.search`."""
        return search(self._embedder, self._rows, self._tiles, self._live, self._cards, query, k)

    @cached_property
    def _live(self) -> Any:
        return np.fromiter((entry.status == "active" for entry in self.entries), bool, len(self.entries))

    @cached_property
    def _cards(self) -> list[SkillCard]:
        return [entry.card for entry in self.entries]


class CardRows(Sequence[SkillCard]):
    """Cards by row, without a list of all of them for each search."""

    def __init__(self, state: State, ids: list[str]) -> None:
        self._state, self._ids = state, ids

    def __getitem__(self, row: Any) -> Any:
        """Card of a row."""
        return self._state.entries[self._ids[row]].card

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._ids)


def search(
    embedder: Embedder, rows: Vectors, tiles: Tiles, live: Any, cards: Sequence[SkillCard], query: str, k: int
) -> tuple[FoundCard, ...]:
    """The `k` cards nearest to a query: by falling score, ties by id.

    Args:
        embedder: Of the rows.
        rows: Vectors, one row per card.
        tiles: Of the table that the rows belong to.
        live: bool, one per card: which count.
        cards: The cards.
        query: Any text.
        k: How many, >= 0.
    """
    if not isinstance(query, str):
        raise BadInput(f"a query is a text, got {shown(query)}")
    if whole("k", k, 0) == 0 or not live.any():
        return ()
    vector = checked(embedder, [query])[0]
    found = [FoundCard(cards[row], round(score, 6)) for row, score in nearest(rows, tiles, live, vector, k)]
    return tuple(sorted(found, key=lambda one: (-one.score, one.card.id))[:k])
