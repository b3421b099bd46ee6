# seed: 5
# actions: ["bet 5", "hit", "hit", "stand", "bet 6", "hit", "bet 7", "stand", "bet 8", "stand", "bet 6", "hit", "hit", "hit", "stand"]
# expect_total: -0.39999999999999997 after 15 steps
import random
from typing import NamedTuple


class Card(NamedTuple):
    rank: str
    suit: str

    def __str__(self):
        return self.rank + self.suit

    @property
    def value(self):
        if self.rank == "A":
            return 11
        return 10 if self.rank in ("J", "Q", "K") else int(self.rank)


class Hand(list):
    """A list of cards that knows how to count itself."""

    @property
    def total(self):
        total = sum(c.value for c in self)
        aces = sum(1 for c in self if c.rank == "A")
        while total > 21 and aces:
            total -= 10
            aces -= 1
        return total

    @property
    def is_bust(self):
        return self.total > 21

    @property
    def is_blackjack(self):
        return len(self) == 2 and self.total == 21

    def __str__(self):
        return " ".join(map(str, self)) + f" ({self.total})"


class Deck:
    RANKS = [str(n) for n in range(2, 11)] + list("JQKA")
    SUITS = "♠♥♦♣"

    def __init__(self, rng):
        self.rng = rng
        self.cards = []
        self.shuffle()

    def shuffle(self):
        self.cards = [Card(r, s) for s in self.SUITS for r in self.RANKS]
        self.rng.shuffle(self.cards)

    def draw(self):
        if not self.cards:
            self.shuffle()
        return self.cards.pop()

    def __len__(self):
        return len(self.cards)


class Env:
    """Five rounds of blackjack with one deck. Actions: 'bet N' then 'hit' / 'stand' / 'double'."""

    ROUNDS = 5
    START_CHIPS = 20

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.deck = Deck(self.rng)
        self.chips = self.START_CHIPS
        self.round = 1
        self.phase = "bet"
        self.bet = 0
        self.player, self.dealer = Hand(), Hand()
        return self._obs(), self._info()

    def _info(self):
        return {"chips": self.chips, "round": self.round, "cards_left": len(self.deck)}

    def _obs(self, note=""):
        head = f"Round {self.round}/{self.ROUNDS}  Chips: {self.chips}"
        if note:
            head = note + "\n" + head
        if self.phase == "bet":
            return f"{head}\nPlace your bet: 'bet N' with N from 1 to {self.chips}."
        if self.phase == "play":
            return f"{head}  Bet: {self.bet}\nDealer shows {self.dealer[0]}\nYour hand: {self.player}\nhit, stand or double?"
        return f"{head}\nThe game is over."

    def _settle(self):
        """Play out the dealer, pay the bet, move to the next round and return (reward, text)."""
        if not self.player.is_bust:
            while self.dealer.total < 17:
                self.dealer.append(self.deck.draw())
        p, d = self.player.total, self.dealer.total
        if self.player.is_bust:
            delta, text = -self.bet, "You bust"
        elif self.player.is_blackjack and not self.dealer.is_blackjack:
            delta, text = (3 * self.bet) // 2, "Blackjack"
        elif self.dealer.is_bust or p > d:
            delta, text = self.bet, "You win"
        elif p == d:
            delta, text = 0, "Push"
        else:
            delta, text = -self.bet, "Dealer wins"
        text += f": you {self.player}, dealer {self.dealer}. {delta:+d} chips."
        self.chips += delta
        self.round += 1
        self.phase = "over" if self.round > self.ROUNDS or self.chips <= 0 else "bet"
        return delta / self.START_CHIPS, text

    def step(self, action):
        words = action.lower().split()
        reward, note = 0.0, ""
        match (self.phase, words):
            case ("bet", ["bet", amount]) if amount.isdigit() and 1 <= int(amount) <= self.chips:
                self.bet = int(amount)
                self.player = Hand([self.deck.draw(), self.deck.draw()])
                self.dealer = Hand([self.deck.draw(), self.deck.draw()])
                self.phase = "play"
                if self.player.is_blackjack:
                    reward, note = self._settle()
            case ("play", ["hit"]):
                self.player.append(self.deck.draw())
                if self.player.total >= 21:
                    reward, note = self._settle()
            case ("play", ["stand"]):
                reward, note = self._settle()
            case ("play", ["double"]) if self.bet * 2 <= self.chips and len(self.player) == 2:
                self.bet *= 2
                self.player.append(self.deck.draw())
                reward, note = self._settle()
            case _:
                reward, note = -0.05, f"'{action}' is not possible now."
        return self._obs(note), reward, self.phase == "over", False, self._info()
