"""What a skill bank is: the outcome of its events, in their order.

The events, one record of the journal each, numbered from 1 without a gap:

    {"event": "add", "card": {...}, "supersedes": [ids]}   a card enters; machine-written near copies give way
    {"event": "claim", "id": ...}                          a person wrote the same card: it is hand-written now
    {"event": "use", "id": ..., "won": true, "step": n}    a rollout had the card in its prompt
    {"event": "retire", "id": ..., "status": ..., "why": ...}
    {"event": "merge", "keep": ..., "drop": ...}           `drop` gives its counts to `keep`
    {"event": "deny", "sha256": [...]}                     questions that no card may come from
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from metagym.errors import BadInput, StoreCorrupt, UnknownName
from metagym.sesa.cards import SkillCard

_TEXT_OF = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode

Status = Literal["active", "retired", "evicted", "superseded", "merged"]

STATUSES: tuple[Status, ...] = ("active", "retired", "evicted", "superseded", "merged")
"""Only active cards are retrieved. The others stay in the bank, so that what was given up is not learnt again."""


@dataclass(frozen=True)
class BankEntry:
    """A card with what became of it.

    Attributes:
        card: The card; its `source` is ``"hand"`` from the moment a person wrote it too.
        seq: Number of the event that added it.
        status: See `STATUSES`.
        uses: Rollouts that had it in their prompt.
        wins: Those of them that succeeded.
        last_used_step: Step of the last use; None if never used or the step was not told.
        replaced_by: Id of the card that took its place; "" for none.
        absorbed: Ids of the cards that were merged into it.
        why: Why it is not active.
    """

    card: SkillCard
    seq: int
    status: Status = "active"
    uses: int = 0
    wins: int = 0
    last_used_step: int | None = None
    replaced_by: str = ""
    absorbed: tuple[str, ...] = ()
    why: str = ""

    @property
    def score(self) -> float:
        """(wins + 1) / (uses + 2), the mean of a success rate under a uniform prior (as EvolveR scores principles)."""
        return (self.wins + 1) / (self.uses + 2)


class State:
    """Entries by id, in the order of their rows in the table of vectors.

    Attributes:
        entries: Id -> entry.
        ids: Id of each row.
        denied: Digests of questions that no card may come from.
        seq: Number of the last event.
        digest: SHA-256 chained over all events: equal digests, equal banks.
        changed: Ids whose file is older than their entry.
    """

    def __init__(self) -> None:
        self.entries: dict[str, BankEntry] = {}
        self.ids: list[str] = []
        self.denied: set[str] = set()
        self.seq = 0
        self.digest = hashlib.sha256(b"metagym-skill-bank").hexdigest()
        self.changed: set[str] = set()
        self._rows: dict[str, int] = {}
        self._mask = np.zeros(64, dtype=bool)

    @property
    def live(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which rows retrieval sees; it changes with the bank."""
        return self._mask[: len(self.ids)]

    def entry(self, id_: str) -> BankEntry:
        """The entry of an id.

        Raises:
            UnknownName: There is none.
        """
        try:
            return self.entries[id_]
        except (KeyError, TypeError):
            raise UnknownName(f"the bank holds no card {str(id_)[:64]!r}") from None

    def row(self, id_: str) -> int:
        """The row of an id in the table of vectors.

        Raises:
            UnknownName: There is none.
        """
        return self._rows[self.entry(id_).card.id]

    def resolve(self, id_: str) -> str:
        """The card that stands for an id today: itself, or what took its place."""
        while replaced := self.entries[id_].replaced_by:
            id_ = replaced
        return id_

    def apply(self, event: Any, card: SkillCard | None = None) -> None:
        """Takes one event in.

        Args:
            event: As the journal holds it.
            card: The card of an ``add``, where it was read already.

        Raises:
            StoreCorrupt: It is no event of this format or does not fit what came before.
        """
        seq = self.seq + 1
        try:
            _EVENTS[event["event"]](self, event, seq, card)
            text = _TEXT_OF(event)
        except (BadInput, KeyError, TypeError, ValueError) as error:
            raise StoreCorrupt(f"event {seq} of the journal is no event of this bank ({error})") from None
        self.digest = hashlib.sha256((self.digest + text).encode("utf-8", "surrogatepass")).hexdigest()
        self.seq = seq

    def _set(self, id_: str, **changes: Any) -> None:
        entry = self.entries[id_] = replace(self.entry(id_), **changes)
        self._mask[self._rows[id_]] = entry.status == "active"
        self.changed.add(id_)

    def _add(self, event: Any, seq: int, card: SkillCard | None) -> None:
        card = card or SkillCard.from_json(event["card"])
        if card.id in self.entries:
            raise BadInput(f"card {card.id} is added for the second time")
        superseded = [self.entry(id_).card.id for id_ in event.get("supersedes", [])]
        self.entries[card.id] = BankEntry(card, seq)
        row = self._rows[card.id] = len(self.ids)
        self.ids.append(card.id)
        if row == len(self._mask):
            self._mask = np.concatenate([self._mask, np.zeros(row, dtype=bool)])
        self._mask[row] = True
        self.changed.add(card.id)
        for id_ in superseded:
            self._set(id_, status="superseded", replaced_by=card.id, why=f"replaced by {card.id}")

    def _claim(self, event: Any, seq: int, card: SkillCard | None) -> None:
        entry = self.entry(event["id"])
        self._set(event["id"], card=replace(entry.card, source="hand"), status="active", why="")

    def _use(self, event: Any, seq: int, card: SkillCard | None) -> None:
        entry, step = self.entry(event["id"]), event.get("step")
        last = entry.last_used_step if step is None else step
        self._set(event["id"], uses=entry.uses + 1, wins=entry.wins + (event["won"] is True), last_used_step=last)

    def _retire(self, event: Any, seq: int, card: SkillCard | None) -> None:
        if event["status"] not in ("retired", "evicted"):
            raise BadInput(f"nothing retires to {event['status']!r}")
        self._set(event["id"], status=event["status"], why=str(event["why"]))

    def _merge(self, event: Any, seq: int, card: SkillCard | None) -> None:
        keep, drop = self.entry(event["keep"]), self.entry(event["drop"])
        if keep is drop:
            raise BadInput("a card is merged into itself")
        steps = [step for step in (keep.last_used_step, drop.last_used_step) if step is not None]
        self._set(
            keep.card.id,
            uses=keep.uses + drop.uses,
            wins=keep.wins + drop.wins,
            last_used_step=max(steps, default=None),
            absorbed=(*keep.absorbed, drop.card.id),
        )
        self._set(drop.card.id, status="merged", replaced_by=keep.card.id, why=f"merged into {keep.card.id}")

    def _deny(self, event: Any, seq: int, card: SkillCard | None) -> None:
        self.denied.update(map(str, event["sha256"]))


_EVENTS: dict[str, Callable[[State, Any, int, SkillCard | None], None]] = {
    "add": State._add,
    "claim": State._claim,
    "use": State._use,
    "retire": State._retire,
    "merge": State._merge,
    "deny": State._deny,
}
