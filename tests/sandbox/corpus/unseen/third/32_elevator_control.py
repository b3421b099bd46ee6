# seed: 2
# actions: ["up", "up", "open", "down", "open", "up", "open", "up", "open", "dance", "down", "down", "open", "wait", "down", "open", "up", "up", "up", "open"]
# expect_total: 1.06 after 20 steps
"""Elevator dispatch: deliver passengers with as little waiting as possible."""
import heapq
import random
from dataclasses import dataclass, field
from itertools import groupby


@dataclass(order=True)
class Passenger:
    arrives: int
    pid: int
    origin: int = field(compare=False)
    target: int = field(compare=False)

    def __str__(self):
        arrow = "^" if self.target > self.origin else "v"
        return f"P{self.pid}{arrow}{self.target}"


class Elevator:
    def __init__(self, floors, capacity):
        self.floors = floors
        self.capacity = capacity
        self.floor = 0
        self.riders = []

    def move(self, delta):
        new = self.floor + delta
        if not 0 <= new < self.floors:
            return False
        self.floor = new
        return True

    @property
    def free(self):
        return self.capacity - len(self.riders)


class Building:
    def __init__(self, rng, floors=5, people=6):
        self.elevator = Elevator(floors, capacity=2)
        self.waiting = {f: [] for f in range(floors)}
        self.arrivals = []
        for pid in range(people):
            a, b = rng.sample(range(floors), 2)
            heapq.heappush(self.arrivals, Passenger(rng.randint(0, 8), pid, a, b))
        self.delivered = []
        self.time = 0

    def admit(self):
        while self.arrivals and self.arrivals[0].arrives <= self.time:
            p = heapq.heappop(self.arrivals)
            self.waiting[p.origin].append(p)

    def open_doors(self):
        e = self.elevator
        out = [p for p in e.riders if p.target == e.floor]
        e.riders = [p for p in e.riders if p not in out]
        self.delivered += out
        queue = self.waiting[e.floor]
        boarded, self.waiting[e.floor] = queue[: e.free], queue[e.free :]
        e.riders.extend(boarded)
        return out, boarded

    @property
    def pending(self):
        return sum(map(len, self.waiting.values())) + len(self.elevator.riders)

    def draw(self):
        lines = []
        for f in reversed(range(self.elevator.floors)):
            cab = f"[{','.join(map(str, self.elevator.riders))}]" if f == self.elevator.floor else "|"
            lines.append(f"{f} {cab:<14} {' '.join(map(str, self.waiting[f]))}".rstrip())
        return "\n".join(lines)


class Env:
    HORIZON = 40

    def reset(self, seed=None):
        self.b = Building(random.Random(seed))
        self.total = len(self.b.arrivals)
        self.b.admit()
        self.log = []
        return "Actions: up, down, open, wait.\n" + self.b.draw(), {"total": self.total}

    def step(self, action):
        b = self.b
        reward = -0.01 * b.pending
        note = ""
        if action in ("up", "down"):
            if not b.elevator.move(1 if action == "up" else -1):
                note, reward = "The elevator cannot go further.", reward - 0.1
        elif action == "open":
            out, into = b.open_doors()
            note = f"{len(out)} left, {len(into)} boarded."
            reward += len(out) * 1.0 if out else (-0.05 if not into else 0.0)
        elif action != "wait":
            note, reward = "Unknown action.", reward - 0.1
        self.log.append(action)
        b.time += 1
        b.admit()
        done = len(b.delivered) == self.total
        runs = " ".join(f"{k}x{len(list(g))}" for k, g in groupby(self.log[-6:]))
        return f"t={b.time} {note}\n{b.draw()}\nlast: {runs}", round(reward, 4), done, b.time >= self.HORIZON, {"delivered": [p.pid for p in b.delivered]}
