# seed: 21
# actions: ["bet 20", "stand", "bet 999", "stand", "bet 20", "hit", "stand", "bet 10", "double", "bet 20", "stand"]
# expect_total: -5.5 after 11 steps
"""Blackjack with betting against a dealer who draws to 17."""
import random
from collections.abc import Iterator

SUITS = "♠♥♦♣"
RANKS = ["A"] + [str(n) for n in range(2, 11)] + list("JQK")


class Card:
    __slots__ = ("rank", "suit")

    def __init__(self, rank: str, suit: str):
        self.rank, self.suit = rank, suit

    def __str__(self):
        return self.rank + self.suit

    def __repr__(self):
        return f"Card({self.rank!r}, {self.suit!r})"

    @property
    def value(self) -> int:
        if self.rank == "A":
            return 11
        return 10 if self.rank in "JQK" else int(self.rank)


class Hand(list):
    @property
    def total(self) -> int:
        t = sum(c.value for c in self)
        aces = sum(c.rank == "A" for c in self)
        while t > 21 and aces:
            t -= 10
            aces -= 1
        return t

    @property
    def blackjack(self) -> bool:
        return len(self) == 2 and self.total == 21

    @property
    def bust(self) -> bool:
        return self.total > 21

    def __str__(self):
        return " ".join(map(str, self)) + f" [{self.total}]"


def shoe(rng: random.Random) -> Iterator[Card]:
    """An endless shoe: reshuffles a fresh deck whenever one runs out."""
    while True:
        deck = [Card(r, s) for s in SUITS for r in RANKS]
        rng.shuffle(deck)
        yield from deck


class Env:
    START, ROUNDS = 50, 4

    def reset(self, seed=None):
        self.cards = shoe(random.Random(seed))
        self.chips = self.START
        self.round = 0
        self.phase = "bet"
        self.player, self.dealer = Hand(), Hand()
        self.bet = 0
        return f"You have {self.chips} chips. 'bet N' to start round 1 of {self.ROUNDS}.", {"chips": self.chips}

    def _deal(self, amount):
        self.bet = amount
        self.round += 1
        self.player, self.dealer = Hand(), Hand()
        for _ in range(2):
            self.player.append(next(self.cards))
            self.dealer.append(next(self.cards))
        self.phase = "play"

    def _settle(self):
        while not self.player.bust and self.dealer.total < 17:
            self.dealer.append(next(self.cards))
        if self.player.bust:
            delta, word = -self.bet, "bust"
        elif self.player.blackjack and not self.dealer.blackjack:
            delta, word = self.bet * 3 // 2, "blackjack"
        elif self.dealer.bust or self.player.total > self.dealer.total:
            delta, word = self.bet, "win"
        elif self.player.total == self.dealer.total:
            delta, word = 0, "push"
        else:
            delta, word = -self.bet, "lose"
        self.chips += delta
        self.phase = "bet"
        return delta, f"{word.upper()}! you {self.player} vs dealer {self.dealer}. Chips: {self.chips}."

    def step(self, action):
        verb, *rest = action.lower().split() or [""]
        delta = 0
        if self.phase == "bet" and verb == "bet" and rest and rest[0].isdigit() and 0 < int(rest[0]) <= self.chips:
            self._deal(int(rest[0]))
            text = f"You: {self.player}. Dealer shows {self.dealer[0]}. hit / stand / double?"
            if self.player.blackjack:
                delta, text = self._settle()
        elif self.phase == "play" and verb in ("hit", "stand", "double"):
            if verb == "double":
                self.bet = min(self.bet * 2, self.chips)
            if verb != "stand":
                self.player.append(next(self.cards))
            if verb == "hit" and not self.player.bust:
                text = f"You: {self.player}. hit / stand?"
            else:
                delta, text = self._settle()
        else:
            return f"Invalid in phase '{self.phase}'.", -0.5, False, False, {"chips": self.chips}
        over = self.phase == "bet" and (self.round >= self.ROUNDS or self.chips <= 0)
        return text, delta / 10, over, False, {"chips": self.chips, "round": self.round}
