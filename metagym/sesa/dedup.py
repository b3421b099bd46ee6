"""Which cards of a batch are new: the decision, apart from its storing.

A card is a duplicate where its content is known already, or where the cosine to a card of the bank reaches the
threshold and the two are no opposites (`metagym.sesa.opposites`). Cards that are retired count too: a lesson that was
given up is not learnt again. What a person writes wins over what a machine wrote: it enters, and the machine's near
copies give way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from metagym.sesa.cards import SkillCard
from metagym.sesa.embedders import Vectors
from metagym.sesa.opposites import opposites
from metagym.sesa.state import BankEntry, State
from metagym.sesa.vectors import VectorTable, close_pairs


@dataclass(frozen=True)
class Added:
    """The card is in the bank now.

    Attributes:
        id: Its id.
        superseded: Ids of machine-written near copies that gave way to it.
        opposites: Ids of cards that embed like it and say the opposite; they stay.
    """

    id: str
    superseded: tuple[str, ...] = ()
    opposites: tuple[str, ...] = ()


@dataclass(frozen=True)
class Duplicate:
    """The bank knows this already; nothing was added.

    Attributes:
        id: The card's id.
        of: Id of the card that is kept.
        cosine: Of the two; 1.0 for equal content.
        claimed: The kept card, written by a machine, counts as hand-written from now on.
    """

    id: str
    of: str
    cosine: float
    claimed: bool = False


@dataclass(frozen=True)
class Refused:
    """The card comes from a question that is kept for evaluation.

    Attributes:
        id: The card's id.
        why: One sentence.
    """

    id: str
    why: str


Outcome = Added | Duplicate | Refused


@dataclass(frozen=True)
class Plan:
    """What is to be done with a batch.

    Attributes:
        outcomes: One for each card.
        events: For the journal.
        cards: Card of each ``add`` event, None for others.
        rows: Rows of the batch's vectors that belong to the ``add`` events, in their order.
    """

    outcomes: tuple[Outcome, ...]
    events: tuple[dict[str, Any], ...]
    cards: tuple[SkillCard | None, ...]
    rows: tuple[int, ...]


def denied(card: SkillCard, state: State) -> str:
    """Why a card may not enter, in one sentence; "" where it does not come from an evaluation question."""
    if card.question_sha256 not in state.denied:
        return ""
    return f"card {card.id} comes from the evaluation question {card.question_sha256[:16]}"


def plan(cards: Sequence[SkillCard], vectors: Vectors, state: State, table: VectorTable, threshold: float) -> Plan:
    """Decides on the cards in their order; nothing is changed.

    Args:
        cards: The batch.
        vectors: Their vectors.
        state: The bank.
        table: Its vectors, one row per id of ``state.ids``.
        threshold: Cosine from which two cards are near copies.
    """
    return _Planner(cards, vectors, state, table, threshold).plan()


class _Planner:
    def __init__(
        self, cards: Sequence[SkillCard], vectors: Vectors, state: State, table: VectorTable, threshold: float
    ) -> None:
        self.cards, self.state = cards, state
        self.fresh: dict[str, BankEntry] = {}  # entries that this batch makes or changes
        self.close: list[list[tuple[float, str]]] = [[] for _ in cards]
        for one, row, score in close_pairs(vectors, table.rows, threshold, table.tiles):
            self.close[one].append((score, state.ids[row]))
        self.inner: list[list[tuple[float, int]]] = [[] for _ in cards]
        for one, other, score in close_pairs(vectors, vectors, threshold) if len(cards) > 1 else ():
            if other < one:
                self.inner[one].append((score, other))
        self.accepted: set[int] = set()
        self.events: list[dict[str, Any]] = []
        self.made: list[SkillCard | None] = []

    def plan(self) -> Plan:
        outcomes = tuple(self.decide(number, card) for number, card in enumerate(self.cards))
        return Plan(outcomes, tuple(self.events), tuple(self.made), tuple(sorted(self.accepted)))

    def entry(self, id_: str) -> BankEntry | None:
        return self.fresh.get(id_) or self.state.entries.get(id_)

    def resolve(self, id_: str) -> BankEntry:
        while (entry := self.entry(id_)) and entry.replaced_by:
            id_ = entry.replaced_by
        assert entry is not None
        return entry

    def decide(self, number: int, card: SkillCard) -> Outcome:
        if why := denied(card, self.state):
            return Refused(card.id, why)
        known = self.entry(card.id)
        near = self.close[number] + [
            (s, self.cards[other].id) for s, other in self.inner[number] if other in self.accepted
        ]
        alike: dict[str, tuple[float, BankEntry]] = {}
        against: list[str] = []
        for score, id_ in sorted(near, key=lambda pair: (-pair[0], pair[1])):
            entry = self.entry(id_)
            if entry is None or id_ == card.id:
                continue
            if opposites(card, entry.card):
                against.append(id_)
            else:
                entry = self.resolve(id_)
                alike.setdefault(entry.card.id, (score, entry))
        if known is not None:
            return self.again(card, known, alike)
        by_hand = card.source == "hand"
        judged = [pair for pair in alike.values() if not by_hand or pair[1].card.source == "hand"]
        if judged:
            score, entry = max(judged, key=lambda pair: (pair[1].status == "active", pair[0]))
            return Duplicate(card.id, entry.card.id, score)
        gone = tuple(sorted(id_ for id_, (_, entry) in alike.items() if entry.status == "active"))
        event: dict[str, Any] = {"event": "add", "card": card.to_json()}
        if gone:
            event["supersedes"] = list(gone)
        self.note(event, card)
        self.accepted.add(number)
        self.fresh[card.id] = BankEntry(card, 0)
        for id_ in gone:
            self.fresh[id_] = replace(alike[id_][1], status="superseded", replaced_by=card.id)
        return Added(card.id, gone, tuple(against))

    def again(self, card: SkillCard, known: BankEntry, alike: dict[str, tuple[float, BankEntry]]) -> Outcome:
        """The very same content once more."""
        if known.replaced_by:
            return Duplicate(card.id, self.resolve(card.id).card.id, 1.0)
        rivals = [entry for _, entry in alike.values() if entry.status == "active"]
        if card.source != "hand" or known.card.source == "hand" or rivals:
            return Duplicate(card.id, card.id, 1.0)
        self.note({"event": "claim", "id": card.id}, None)
        self.fresh[card.id] = replace(known, card=replace(known.card, source="hand"), status="active")
        return Duplicate(card.id, card.id, 1.0, claimed=True)

    def note(self, event: dict[str, Any], card: SkillCard | None) -> None:
        self.events.append(event)
        self.made.append(card)
