# seed: 12
# actions: ["bet 10", "hit", "stand", "bet 25", "stand", "hit", "bet 500", "bet 20", "hit", "hit", "stand", "bet 5", "stand", "leave"]
# expect_total: -0.020000000000000004 after 14 steps
import gymnasium as gym
from gymnasium import spaces
from enum import Enum
from typing import List, Optional


class Suit(Enum):
    CLUBS = "♣"
    DIAMONDS = "♦"
    HEARTS = "♥"
    SPADES = "♠"


class Card:
    VALUES = {"A": 11, "K": 10, "Q": 10, "J": 10, **{str(n): n for n in range(2, 11)}}

    def __init__(self, rank: str, suit: Suit):
        self.rank = rank
        self.suit = suit

    @property
    def value(self) -> int:
        return self.VALUES[self.rank]

    def __str__(self):
        return f"{self.rank}{self.suit.value}"

    __repr__ = __str__


class Hand(list):
    def total(self) -> int:
        total = sum(card.value for card in self)
        aces = sum(card.rank == "A" for card in self)
        while total > 21 and aces:
            total -= 10
            aces -= 1
        return total


class BlackjackEnv(gym.Env):
    def __init__(self, bankroll: int = 100):
        super().__init__()
        self.start_bankroll = bankroll
        self.action_space = spaces.Text(20)
        self.observation_space = spaces.Text(300)
        self.deck: List[Card] = []
        self.player: Optional[Hand] = None
        self.dealer: Optional[Hand] = None

    def _shuffle(self):
        self.deck = [Card(r, s) for s in Suit for r in Card.VALUES]
        self.np_random.shuffle(self.deck)

    def reset(self, seed: Optional[int] = None, options: Optional[dict] = None):
        super().reset(seed=seed, options=options)
        self.bankroll = self.start_bankroll
        self.bet = 0
        self.player = self.dealer = None
        self._shuffle()
        return self._obs("Place your bet."), {"bankroll": self.bankroll}

    def _obs(self, message):
        if self.player is None:
            return f"{message} Bankroll: {self.bankroll}"
        return f"{message} You: {' '.join(map(str, self.player))} ({self.player.total()}) Dealer: {self.dealer[0]} ??"

    def _settle(self):
        while self.dealer.total() < 17:
            self.dealer.append(self.deck.pop())
        p, d = self.player.total(), self.dealer.total()
        if p > 21:
            gain, msg = -self.bet, "Bust."
        elif d > 21 or p > d:
            gain, msg = self.bet, "You win."
        elif p == d:
            gain, msg = 0, "Push."
        else:
            gain, msg = -self.bet, "Dealer wins."
        msg += f" ({p} vs {d})"
        self.bankroll += gain
        self.player = self.dealer = None
        if len(self.deck) < 15:
            self._shuffle()
        return msg, gain / self.start_bankroll

    def step(self, action: str):
        reward, terminated, message = 0.0, False, "Invalid action."
        cmd, *args = action.split()
        if cmd == "leave":
            terminated, message = True, "You leave the table."
        elif cmd == "bet" and self.player is None and args and args[0].isdigit():
            amount = int(args[0])
            if 0 < amount <= self.bankroll:
                self.bet = amount
                self.player = Hand([self.deck.pop(), self.deck.pop()])
                self.dealer = Hand([self.deck.pop(), self.deck.pop()])
                message = "Cards dealt."
            else:
                reward, message = -0.01, "You can't bet that."
        elif cmd == "hit" and self.player is not None:
            self.player.append(self.deck.pop())
            message = "You draw."
            if self.player.total() > 21:
                message, reward = self._settle()
        elif cmd == "stand" and self.player is not None:
            message, reward = self._settle()
        else:
            reward = -0.01
        if self.bankroll <= 0:
            terminated = True
        return self._obs(message), reward, terminated, False, {"bankroll": self.bankroll}
