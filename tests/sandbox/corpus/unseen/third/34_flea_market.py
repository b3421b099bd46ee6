# seed: 33
# actions: ["offer 50", "offer 20", "offer 60", "haggle", "offer 63", "offer 66"]
# expect_total: 1.825 after 6 steps
"""Bargaining over the price of a used item with sellers of different temper (state pattern)."""
from __future__ import annotations

import random
import re
from contextlib import suppress
from typing import Optional


class Mood:
    patience = 1.0

    def __init__(self, seller: Seller):
        self.seller = seller

    def reply(self, offer: int) -> tuple[str, Optional[int], Mood]:
        raise NotImplementedError


class Calm(Mood):
    def reply(self, offer):
        s = self.seller
        if offer >= s.asking or offer >= s.secret + s.rng.randint(0, 5):
            return "Deal!", offer, self
        if offer < s.secret * 0.5:
            return "That is an insult.", None, Angry(s)
        s.asking = max(s.secret, round(s.asking - (s.asking - offer) * s.give))
        return f"I could do {s.asking}.", None, self if s.rng.random() < 0.8 else Tired(s)


class Angry(Mood):
    def reply(self, offer):
        s = self.seller
        if offer >= s.asking:
            return "Fine, take it.", offer, self
        s.asking += 3
        return f"Now it's {s.asking}!", None, Calm(s) if offer > s.secret else Tired(s)


class Tired(Mood):
    def reply(self, offer):
        s = self.seller
        s.energy -= 1
        if offer >= s.secret:
            return "All right, I want to go home.", offer, self
        if s.energy <= 0:
            raise WalkAway
        return f"Last word: {s.asking}.", None, self


class WalkAway(Exception):
    """The seller leaves."""


class Seller:
    def __init__(self, rng: random.Random):
        self.rng = rng
        self.secret = rng.randint(30, 60)
        self.asking = self.secret + rng.randint(15, 40)
        self.give = rng.choice((0.2, 0.35, 0.5))
        self.energy = rng.randint(1, 3)
        self.mood: Mood = Calm(self)

    def hear(self, offer: int):
        text, price, self.mood = self.mood.reply(offer)
        return text, price


ITEMS = ["bicycle", "guitar", "lamp", "camera", "radio"]


class Env:
    def __init__(self) -> None:
        self.deals: list[tuple[str, int]] = []

    def reset(self, seed: Optional[int] = None):
        self.rng = random.Random(seed)
        self.todo = iter(self.rng.sample(ITEMS, 3))
        self.deals.clear()
        self.steps = 0
        self.budget = 200
        self._open()
        return self._say("Buy three items as cheaply as you can: 'offer N', 'accept' or 'leave'."), {"budget": self.budget}

    def _open(self) -> bool:
        with suppress(StopIteration):
            self.item = next(self.todo)
            self.seller = Seller(self.rng)
            return True
        self.item = None
        return False

    def _say(self, text):
        tail = "The market closes." if self.item is None else f"For sale: {self.item}, asking {self.seller.asking}. Budget {self.budget}. ({type(self.seller.mood).__name__.lower()} seller)"
        return f"{text}\n{tail}"

    def _value(self, price):
        s = self.seller
        return round((s.secret + 40 - price) / 40, 3)

    def step(self, action: str):
        self.steps += 1
        if self.item is None:
            return self._say("Closed."), 0.0, True, False, {}
        price, reward, left = None, 0.0, False
        if m := re.match(r"offer\s+\$?(\d+)$", action.strip()):
            offer = int(m[1])
            if offer > self.budget:
                text, reward = "You do not have that much.", -0.1
            else:
                try:
                    text, price = self.seller.hear(offer)
                except WalkAway:
                    text, left = "The seller packs up and leaves.", True
        elif action == "accept" and self.seller.asking <= self.budget:
            text, price = "Sold!", self.seller.asking
        elif action == "leave":
            text, left = "You walk on.", True
        else:
            text, reward = "Pardon?", -0.1
        if price is not None:
            self.budget -= price
            reward += self._value(price)
            self.deals.append((self.item, price))
        if left:
            reward -= 0.2
        if price is not None or left:
            self._open()
        return self._say(text), reward, self.item is None, self.steps >= 20, {"deals": list(self.deals)}
