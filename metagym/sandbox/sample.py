"""A program in ordinary words, which a zygote compiles and plays before it forks.

The interpreter specialises code as it runs. What has run before the fork is specialised already in every worker,
which then neither spends the time again nor copies the pages that it would write to.
"""

from __future__ import annotations

SAMPLE = '''"""A courier carries parcels between the stations of a small network."""

import random
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Optional


class Mode(Enum):
    WALK = "walk"
    RIDE = "ride"


@dataclass
class Parcel:
    name: str
    goal: str
    weight: int = 1
    moved: list = field(default_factory=list)


class Env:
    LIMIT = 20

    def __init__(self, size: int = 4):
        self.size = size
        self._links: dict[str, list[str]] = {}
        self.mode = Mode.WALK

    def _build(self, rng: random.Random) -> None:
        names = [f"station {i}" for i in range(self.size)]
        self._links = {name: [] for name in names}
        for a, b in zip(names, names[1:] + names[:1]):
            self._links[a].append(b)
            self._links[b].append(a)
        self._parcels = [Parcel(f"p{i}", rng.choice(names), weight=i + 1) for i in range(2)]

    def reset(self, seed: Optional[int] = None):
        rng = random.Random(seed)
        self._build(rng)
        self._at, self._steps, self._score = "station 0", 0, 0.0
        return self._look(), {"parcels": len(self._parcels)}

    def _look(self) -> str:
        goals = ", ".join(sorted({p.goal for p in self._parcels})) or "none"
        return f"You are at {self._at!r} ({self.mode.value}). Goals: {goals}. Exits: {self._links[self._at]}"

    def _distance(self, start: str, goal: str) -> int:
        seen, queue = {start}, deque([(start, 0)])
        while queue:
            here, far = queue.popleft()
            if here == goal:
                return far
            for there in self._links[here]:
                if there not in seen:
                    seen.add(there)
                    queue.append((there, far + 1))
        return -1

    def step(self, action):
        self._steps += 1
        reward = -0.01
        try:
            word, _, rest = str(action).partition(" ")
            if word == "go":
                if rest not in self._links[self._at]:
                    raise ValueError(f"no way to {rest}")
                self._at = rest
            elif word in ("walk", "ride"):
                self.mode = Mode(word)
            elif word == "drop":
                done = [p for p in self._parcels if p.goal == self._at]
                self._parcels = [p for p in self._parcels if p.goal != self._at]
                reward += sum(p.weight for p in done)
            else:
                reward -= 0.1
        except (ValueError, KeyError) as error:
            return f"Error: {error}", reward, False, False, {"error": True}
        self._score += reward
        terminated = not self._parcels
        truncated = self._steps >= self.LIMIT
        near = min((self._distance(self._at, p.goal) for p in self._parcels), default=0)
        return self._look(), round(reward, 3), terminated, truncated, {"near": near, "score": self._score}
'''

ACTIONS = ("go station 1", "ride", "drop", "look", "go nowhere", "go station 2", "drop")

ROUNDS = 3
"""How often it is compiled and played: the interpreter specialises a function at its eighth run or so."""
