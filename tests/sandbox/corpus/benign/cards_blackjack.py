# seed: 44
# actions: ["hit", "stand", "hit", "hit", "double", "stand", "hit", "stand", "quit"]
# expect_total: -1.1 after 9 steps
import random
from collections import deque
from enum import Enum
from functools import cached_property, total_ordering


class Suit(Enum):
    CLUBS = ("c", 1)
    DIAMONDS = ("d", 2)
    HEARTS = ("h", 3)
    SPADES = ("s", 4)

    def __init__(self, letter, rank):
        self.letter = letter
        self.rank = rank

    @classmethod
    def from_letter(cls, letter):
        for suit in cls:
            if suit.letter == letter:
                return suit
        raise ValueError(letter)

    @property
    def red(self):
        return self in (Suit.DIAMONDS, Suit.HEARTS)


@total_ordering
class Card:
    __slots__ = ("rank", "suit")
    RANKS = "A23456789TJQK"

    def __init__(self, rank, suit):
        self.rank = rank
        self.suit = suit

    @property
    def value(self):
        if self.rank == "A":
            return 11
        return int(self.rank) if self.rank.isdigit() else 10

    def __eq__(self, other):
        return isinstance(other, Card) and (self.rank, self.suit) == (other.rank, other.suit)

    def __lt__(self, other):
        return (self.value, self.suit.rank) < (other.value, other.suit.rank)

    def __hash__(self):
        return hash((self.rank, self.suit.letter))

    def __str__(self):
        return f"{self.rank}{self.suit.letter}"

    def __repr__(self):
        return f"Card({str(self)!r})"


class Shoe:
    """Iterable deck; reshuffles when it runs low."""

    def __init__(self, rng):
        self._rng = rng
        self._cards = deque()
        self.shuffles = 0

    @cached_property
    def full(self):
        return tuple(Card(r, s) for s in Suit for r in Card.RANKS)

    def __iter__(self):
        return self

    def __next__(self):
        if len(self._cards) < 4:
            cards = list(self.full)
            self._rng.shuffle(cards)
            self._cards.extend(cards)
            self.shuffles += 1
        return self._cards.popleft()

    def __len__(self):
        return len(self._cards)


class Hand(list):
    @property
    def total(self):
        t = sum(c.value for c in self)
        aces = sum(1 for c in self if c.rank == "A")
        while t > 21 and aces:
            t -= 10
            aces -= 1
        return t

    @property
    def bust(self):
        return self.total > 21

    def __str__(self):
        return " ".join(map(str, sorted(self)))


class BlackjackEnv:
    START_BANK = 10

    def reset(self, seed=None):
        self.shoe = Shoe(random.Random(seed))
        self.bank = self.START_BANK
        self.rounds = 0
        self._deal()
        return self._obs()

    def _deal(self):
        self.rounds += 1
        self.bet = 1
        self.player = Hand(next(self.shoe) for _ in range(2))
        self.dealer = Hand([next(self.shoe)])

    def _obs(self):
        return f"you: {self.player} ({self.player.total}) dealer: {self.dealer} bank: {self.bank}"

    def _settle(self):
        if not self.player.bust:
            while self.dealer.total < 17:
                self.dealer.append(next(self.shoe))
        p, d = self.player.total, self.dealer.total
        if self.player.bust or (not self.dealer.bust and d > p):
            gain = -self.bet
        elif d == p:
            gain = 0
        else:
            gain = self.bet * (1.5 if p == 21 and len(self.player) == 2 else 1)
        self.bank += gain
        self._deal()
        return gain

    def step(self, action):
        reward = 0
        if action == "quit":
            return self._obs(), 0.1 * (self.bank - self.START_BANK), True, {"rounds": self.rounds}
        if action == "double":
            self.bet *= 2
        if action in ("hit", "double"):
            self.player.append(next(self.shoe))
        if action in ("stand", "double") or self.player.bust:
            reward = self._settle()
        reds = sum(c.suit.red for c in self.player)
        return self._obs(), reward, self.bank <= 0, {"left": len(self.shoe), "reds": reds}
