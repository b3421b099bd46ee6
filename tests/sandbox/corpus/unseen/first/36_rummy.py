# seed: 50
# actions: ["play 0", "play 1", "discard 0 2", "play 4", "meld 0 1 2", "draw", "sort", "meld 1 2 3", "draw", "discard 0", "knock"]
# expect_total: -2.1 after 11 steps
"""A small rummy variant against a scripted opponent."""
from __future__ import annotations

import random
from enum import Enum
from functools import total_ordering
from itertools import groupby
from typing import Iterable, List, Optional


class Suit(Enum):
    CLUBS = "C"
    DIAMONDS = "D"
    HEARTS = "H"
    SPADES = "S"


@total_ordering
class Card:
    __slots__ = ("rank", "suit")
    NAMES = {1: "A", 11: "J", 12: "Q", 13: "K"}

    def __init__(self, rank: int, suit: Suit) -> None:
        self.rank = rank
        self.suit = suit

    @property
    def points(self) -> int:
        return min(self.rank, 10)

    def _key(self):
        return (self.rank, self.suit.value)

    def __eq__(self, other) -> bool:
        if not isinstance(other, Card):
            return NotImplemented
        return self._key() == other._key()

    def __lt__(self, other) -> bool:
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"{self.NAMES.get(self.rank, self.rank)}{self.suit.value}"


class Deck:
    def __init__(self, rng: random.Random) -> None:
        self.cards = [Card(r, s) for s in Suit for r in range(1, 14)]
        rng.shuffle(self.cards)

    def deal(self, n: int) -> List[Card]:
        dealt, self.cards = self.cards[:n], self.cards[n:]
        return dealt

    def __len__(self) -> int:
        return len(self.cards)


def is_meld(cards: Iterable[Card]) -> bool:
    cards = sorted(cards)
    if len(cards) < 3:
        return False
    if len({c.rank for c in cards}) == 1:
        return True
    one_suit = len({c.suit for c in cards}) == 1
    return one_suit and all(b.rank - a.rank == 1 for a, b in zip(cards, cards[1:]))


class RummyEnv:
    HAND = 10

    def reset(self, seed: Optional[int] = None) -> str:
        self.rng = random.Random(seed)
        self.deck = Deck(self.rng)
        self.hand = sorted(self.deck.deal(self.HAND))
        self.rival = self.deck.deal(self.HAND)
        self.table: List[List[Card]] = []
        self.turn = 0
        return self._obs("Make melds (3+ of a rank or a run of a suit), then knock.")

    def deadwood(self, cards: Iterable[Card]) -> int:
        return sum(c.points for c in cards)

    def _obs(self, message: str) -> str:
        groups = {s.name: [repr(c) for c in g] for s, g in groupby(sorted(self.hand, key=lambda c: (c.suit.value, c.rank)), key=lambda c: c.suit)}
        hand = " ".join(f"{i}:{c!r}" for i, c in enumerate(self.hand))
        return f"{message}\nHand: {hand}\nBy suit: {groups}\nMelds: {self.table}\nDeck: {len(self.deck)}"

    def _rival_turn(self) -> None:
        if len(self.deck):
            self.rival += self.deck.deal(1)
            self.rival.remove(max(self.rival, key=lambda c: c.points))

    def step(self, action: str):
        self.turn += 1
        verb, *idx = action.split()
        done = self.turn >= 25 or not len(self.deck)
        try:
            picked = [self.hand[int(i)] for i in idx]
        except (ValueError, IndexError):
            return self._obs("Bad card index."), -0.2, done, {}
        if verb == "meld":
            if not is_meld(picked):
                return self._obs("That is not a meld."), -0.2, done, {}
            self.hand = [c for c in self.hand if c not in picked]
            self.table.append(picked)
            return self._obs("Meld!"), self.deadwood(picked) / 10, done, {}
        if verb == "draw":
            self.hand.extend(self.deck.deal(1))
            self._rival_turn()
            return self._obs("You draw."), 0.0, done, {}
        if verb in ("discard", "play") and picked:
            for c in picked:
                self.hand.remove(c)
            self._rival_turn()
            return self._obs(f"Away with {picked}."), -0.05 * len(picked), done, {}
        if verb == "sort":
            self.hand.sort()
            return self._obs("Sorted."), 0.0, done, {}
        if verb == "knock":
            diff = self.deadwood(self.rival) - self.deadwood(self.hand)
            return self._obs(f"You knock. Difference {diff}."), diff / 10, True, {"win": diff > 0}
        return self._obs("Unknown action."), -0.1, done, {}
