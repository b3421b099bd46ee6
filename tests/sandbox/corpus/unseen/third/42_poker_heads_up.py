# seed: 40
# actions: ["stay", "raise", "draw 0", "check", "call", "draw 0 1", "check", "call"]
# expect_total: 0.1 after 8 steps
"""Heads-up Kuhn-style poker with a 3-card hand, one draw and one betting round per hand."""
import random
from collections import Counter
from dataclasses import dataclass, field
from functools import total_ordering
from itertools import product
from typing import ClassVar


@total_ordering
@dataclass(frozen=True)
class Card:
    rank: int
    suit: str
    FACES: ClassVar[dict[int, str]] = {11: "J", 12: "Q", 13: "K", 14: "A"}

    def __lt__(self, other):
        return (self.rank, self.suit) < (other.rank, other.suit)

    def __str__(self):
        return f"{self.FACES.get(self.rank, self.rank)}{self.suit}"


@total_ordering
class HandRank:
    NAMES = ["high card", "pair", "flush", "straight", "trips", "straight flush"]

    def __init__(self, cards):
        ranks = sorted((c.rank for c in cards), reverse=True)
        counts = Counter(ranks).most_common()
        flush = len({c.suit for c in cards}) == 1
        straight = ranks[0] - ranks[2] == 2 and len(counts) == 3
        if flush and straight:
            kind = 5
        elif counts[0][1] == 3:
            kind = 4
        elif straight:
            kind = 3
        elif flush:
            kind = 2
        elif counts[0][1] == 2:
            kind = 1
        else:
            kind = 0
        order = sorted(ranks, key=lambda r: (-ranks.count(r), -r))
        self.key = (kind, *order)

    def __eq__(self, other):
        return self.key == other.key

    def __lt__(self, other):
        return self.key < other.key

    def __str__(self):
        return self.NAMES[self.key[0]]


@dataclass
class Seat:
    stack: int
    cards: list[Card] = field(default_factory=list)

    def pay(self, n):
        n = min(n, self.stack)
        self.stack -= n
        return n


class Bot:
    def __init__(self, rng):
        self.rng = rng
        self.bluff = rng.uniform(0.05, 0.3)

    def discards(self, cards):
        counts = Counter(c.rank for c in cards)
        return [i for i, c in enumerate(cards) if counts[c.rank] == 1 and c.rank < 10][:2]

    def respond(self, rank, raised):
        strong = rank.key >= (1, 8)
        if raised:
            return "call" if strong or self.rng.random() < self.bluff else "fold"
        return "raise" if strong or self.rng.random() < self.bluff else "check"


class Env:
    HANDS = 3

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.me, self.them = Seat(20), Seat(20)
        self.bot = Bot(self.rng)
        self.hand_no = 0
        self._new_hand()
        return f"{self.HANDS} hands of three-card draw. {self._view()}", {"stack": 20}

    def _new_hand(self):
        self.hand_no += 1
        self.deck = [Card(r, s) for r, s in product(range(7, 15), "cdhs")]
        self.rng.shuffle(self.deck)
        for seat in (self.me, self.them):
            seat.cards = sorted(self.deck.pop() for _ in range(3))
        self.pot = self.me.pay(1) + self.them.pay(1)
        self.stage = "draw"

    def _view(self):
        hand = " ".join(map(str, self.me.cards))
        todo = "'draw i j' (positions 0-2) or 'stay'" if self.stage == "draw" else "check, raise or fold" if self.stage == "bet" else "call or fold"
        return f"Hand {self.hand_no}: {hand} ({HandRank(self.me.cards)}), pot {self.pot}, stacks {self.me.stack}/{self.them.stack}. {todo}."

    def _replace(self, seat, idx):
        for i in idx:
            seat.cards[i] = self.deck.pop()
        seat.cards.sort()

    def _award(self, winner, text):
        if winner is None:
            self.me.stack += self.pot // 2
            self.them.stack += self.pot - self.pot // 2
        else:
            winner.stack += self.pot
        self.pot = 0
        return text

    def _showdown(self):
        a, b = HandRank(self.me.cards), HandRank(self.them.cards)
        winner = self.me if a > b else self.them if b > a else None
        shown = " ".join(map(str, self.them.cards))
        return self._award(winner, f"Showdown: {a} vs {b} ({shown}).")

    def step(self, action):
        verb, *args = action.lower().split() or [""]
        before = self.me.stack
        text, over = "", False
        match self.stage, verb:
            case "draw", "draw" | "stay":
                idx = sorted({int(a) for a in args if a in "012"})
                self._replace(self.me, idx if verb == "draw" else [])
                swaps = self.bot.discards(self.them.cards)
                self._replace(self.them, swaps)
                text, self.stage = f"The bot draws {len(swaps)}.", "bet"
                return f"{text}\n{self._view()}", 0.0, False, False, {"stage": self.stage}
            case ("bet" | "answer"), "fold":
                text, over = self._award(self.them, "You fold."), True
            case "bet", "raise":
                self.pot += self.me.pay(2)
                if self.bot.respond(HandRank(self.them.cards), True) == "fold":
                    text = self._award(self.me, "The bot folds.")
                else:
                    self.pot += self.them.pay(2)
                    text = self._showdown()
                over = True
            case "bet", "check":
                if self.bot.respond(HandRank(self.them.cards), False) == "raise":
                    self.pot += self.them.pay(2)
                    self.stage, text = "answer", "The bot raises."
                else:
                    text, over = self._showdown(), True
            case "answer", "call":
                self.pot += self.me.pay(2)
                text, over = self._showdown(), True
            case _:
                return f"Not now. {self._view()}", -0.1, False, False, {"stage": self.stage}
        reward = (self.me.stack - before) / 10 if over else 0.0
        done = over and self.hand_no >= self.HANDS
        if over and not done:
            self._new_hand()
        return f"{text}\n{self._view()}", reward, done, False, {"stack": self.me.stack}
