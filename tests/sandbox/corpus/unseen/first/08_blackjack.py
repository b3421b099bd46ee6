# seed: 9
# actions: ["bet 10", "hit", "stand", "bet 20", "stand", "bet 5", "double", "bet 500", "bet 10", "hit", "hit", "stand", "bet 10", "stand", "quit"]
# expect_total: -5.2 after 15 steps
import random
from collections import namedtuple

Card = namedtuple("Card", ["rank", "suit"])

RANKS = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"]
SUITS = ["♠", "♥", "♦", "♣"]


def hand_value(hand):
    """Calculate the best value of a blackjack hand."""
    total = 0
    aces = 0
    for card in hand:
        if card.rank in ("J", "Q", "K"):
            total += 10
        elif card.rank == "A":
            total += 11
            aces += 1
        else:
            total += int(card.rank)
    while total > 21 and aces:
        total -= 10
        aces -= 1
    return total


def show(hand):
    return " ".join(c.rank + c.suit for c in hand)


class BlackjackEnv:
    """
    A blackjack environment with betting.

    Phases:
      - "bet": the agent must place a bet with "bet N"
      - "play": the agent may "hit", "stand" or "double"
    """

    def __init__(self, num_decks=2, bankroll=100, max_hands=8):
        self.num_decks = num_decks
        self.start_bankroll = bankroll
        self.max_hands = max_hands

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.deck = [Card(r, s) for r in RANKS for s in SUITS] * self.num_decks
        self.rng.shuffle(self.deck)
        self.bankroll = self.start_bankroll
        self.hands_played = 0
        self.phase = "bet"
        self.player, self.dealer, self.bet = [], [], 0
        return f"Welcome to Blackjack! Bankroll: ${self.bankroll}. Place a bet with 'bet N'."

    def _draw(self):
        return self.deck.pop()

    def step(self, action):
        action = action.strip().lower()
        if action == "quit":
            return "Goodbye!", 0.0, True, {"bankroll": self.bankroll}
        if self.phase == "bet":
            return self._handle_bet(action)
        return self._handle_play(action)

    def _handle_bet(self, action):
        parts = action.split()
        if len(parts) != 2 or parts[0] != "bet" or not parts[1].isdigit():
            return "You need to bet first: 'bet N'", -0.1, False, {}
        amount = int(parts[1])
        if not 1 <= amount <= self.bankroll:
            return f"Invalid bet, you have ${self.bankroll}.", -0.1, False, {}
        self.bet = amount
        self.player = [self._draw(), self._draw()]
        self.dealer = [self._draw(), self._draw()]
        self.phase = "play"
        if hand_value(self.player) == 21:
            return self._settle("Blackjack! ", natural=True)
        return f"Your hand: {show(self.player)} ({hand_value(self.player)}). Dealer shows {self.dealer[0].rank}{self.dealer[0].suit}.", 0.0, False, {}

    def _handle_play(self, action):
        if action == "hit":
            self.player.append(self._draw())
            if hand_value(self.player) > 21:
                return self._settle("Bust! ")
            return f"Your hand: {show(self.player)} ({hand_value(self.player)}).", 0.0, False, {}
        elif action == "double":
            self.bet = min(self.bet * 2, self.bankroll)
            self.player.append(self._draw())
            return self._settle("Doubled. ")
        elif action == "stand":
            return self._settle("")
        return "Valid actions: hit, stand, double.", -0.1, False, {}

    def _settle(self, prefix, natural=False):
        pv = hand_value(self.player)
        if pv <= 21:
            while hand_value(self.dealer) < 17:
                self.dealer.append(self._draw())
        dv = hand_value(self.dealer)
        if pv > 21:
            gain = -self.bet
        elif natural and dv != 21:
            gain = int(self.bet * 1.5)
        elif dv > 21 or pv > dv:
            gain = self.bet
        elif pv == dv:
            gain = 0
        else:
            gain = -self.bet
        self.bankroll += gain
        self.hands_played += 1
        self.phase = "bet"
        done = self.bankroll <= 0 or self.hands_played >= self.max_hands
        text = f"{prefix}You: {pv}, dealer: {dv} [{show(self.dealer)}]. Result: {gain:+d}. Bankroll: ${self.bankroll}."
        return text, gain / 10, done, {"bankroll": self.bankroll}
