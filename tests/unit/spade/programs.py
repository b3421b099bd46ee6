"""Programs of the tests: one that is fair, and what makes others of it."""

from __future__ import annotations

HEADER = '''"""
title: Number lock
skill: Logical Deduction
domain: locks
action_format: text
max_steps: 12
reward_range: [0, 1]
"""
'''

LOCK = (
    HEADER
    + '''

class LockEnv(SyntheticEnv):
    """A lock whose pins are found one by one; each try says whether it was too low or too high."""

    PINS = 2

    def reset(self, seed):
        self.pins = [self.rng.randrange(1, 60) for _ in range(self.PINS)]
        self.at = 0
        self.steps = 0
        self.over = False
        return f"The lock has {self.PINS} pins, each between 1 and 59. Write: turn N", {}

    def step(self, action):
        if self.over:
            return "The lock rests.", 0.0, True, False, {}
        self.steps += 1
        words = action.split()
        reward = 0.0
        if len(words) != 2 or words[0] != "turn" or not words[1].isdigit() or not words[1].isascii():
            text = "Write: turn N"
        elif int(words[1][:9]) == self.pins[self.at]:
            self.at += 1
            text = "It clicks."
            if self.at == len(self.pins):
                reward, self.over = 1.0, True
        else:
            text = "Too low." if int(words[1][:9]) < self.pins[self.at] else "Too high."
        truncated = self.steps >= 12 and not self.over
        done, self.over = self.over, self.over or truncated
        return text, reward, done, truncated, {"steps": self.steps}

    def hint(self):
        return "Halve the range that is left with every try."

    def solution(self):
        return [f"turn {pin}" for pin in self.pins]
'''
)
"""A fair program: two hidden numbers, found by halving."""

SHOP = '''"""
title: Small shop
skill: State Modification
domain: retail
action_format: tool_call
max_steps: 10
reward_range: [0, 1]
"""
import json


class ShopEnv(ToolEnv):
    max_steps = 10

    def begin(self):
        names = self.rng.sample(["apple", "pear", "plum", "fig", "quince", "medlar", "peach", "cherry"], 4)
        self.stock = {name: self.rng.randrange(20, 60) for name in names}
        self.wanted = self.rng.choice(sorted(names))
        self.cart = {}

    def turns(self):
        return [
            (f"Put half of all the {self.wanted} that you have, rounded down, into my cart.", self.filled),
            ("How many are left? Answer with the number.", lambda: self.answer == str(self.stock[self.wanted])),
        ]

    def filled(self):
        return self.cart == {self.wanted: (self.stock[self.wanted] + self.cart.get(self.wanted, 0)) // 2}

    def tool_look(self, name):
        """How many of a fruit are in stock.

        name (string): The fruit.
        """
        if name not in self.stock:
            raise ValueError(f"there is no {name}")
        return self.stock[name]

    def tool_put(self, name, count):
        """Puts fruit into the cart.

        name (string): The fruit.
        count (integer): How many, at least 1.
        """
        if not 0 < count <= self.stock.get(name, 0):
            raise ValueError("not in stock")
        self.stock[name] -= count
        self.cart[name] = self.cart.get(name, 0) + count
        return {"cart": self.cart}

    def hint(self):
        return "Look before you put."

    def solution(self):
        half = self.stock[self.wanted] // 2
        put = {"name": "put", "arguments": {"name": self.wanted, "count": half}}
        look = {"name": "look", "arguments": {"name": self.wanted}}
        left = self.stock[self.wanted] - half
        return [
            f"<tool_call>{json.dumps(look)}</tool_call>",
            f"<tool_call>{json.dumps(put)}</tool_call>",
            "<answer>done</answer>",
            f"<answer>{left}</answer>",
        ]
'''
"""A fair program with tools."""


def changed(source: str, old: str, new: str) -> str:
    """A program with one place changed; the place must be there."""
    assert source.count(old) >= 1, old
    return source.replace(old, new, 1)
