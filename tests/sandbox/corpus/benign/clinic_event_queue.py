# seed: 17
# actions: ["serve", "serve", "wait", "triage 2", "serve", "wait", "serve", "serve", "serve", "wait", "serve"]
# expect_total: 8.664 after 11 steps
"""Discrete-event simulation of a walk-in clinic built on heapq."""
import heapq
import itertools
import random
from functools import total_ordering
from typing import Iterator, List, NamedTuple, Tuple


class Arrival(NamedTuple):
    time: float
    name: str
    severity: int = 1

    def describe(self) -> str:
        return "%s (severity %d, arrived %.1f)" % (self.name, self.severity, self.time)


@total_ordering
class QueueEntry:
    _ids = itertools.count(1)

    def __init__(self, arrival: Arrival):
        self.arrival = arrival
        self.order = next(QueueEntry._ids)

    def _key(self) -> Tuple[int, int]:
        return (-self.arrival.severity, self.order)

    def __eq__(self, other) -> bool:
        return self._key() == other._key()

    def __lt__(self, other) -> bool:
        return self._key() < other._key()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.arrival.name}, sev={self.arrival.severity})"


def arrivals(rng: random.Random) -> Iterator[Arrival]:
    """An endless stream of patients."""
    clock = 0.0
    for letter in itertools.cycle("ABCDEFG"):
        clock += rng.expovariate(0.5)
        yield Arrival(round(clock, 2), f"{letter}{rng.randrange(10)}", rng.choices([1, 2, 3], weights=[5, 3, 1])[0])


class ClinicEnv:
    SERVICE_TIME = 1.5
    HORIZON = 15.0

    def reset(self, seed: int = 0):
        self.rng = random.Random(seed)
        stream = arrivals(self.rng)
        self.future: List[Arrival] = list(itertools.takewhile(lambda a: a.time < self.HORIZON, stream))
        self.queue: List[QueueEntry] = []
        self.clock = 0.0
        self._admit()
        return self._obs()

    def _admit(self) -> int:
        due = list(itertools.takewhile(lambda a: a.time <= self.clock, self.future))
        for a in due:
            heapq.heappush(self.queue, QueueEntry(a))
        del self.future[: len(due)]
        return len(due)

    def _obs(self) -> str:
        waiting = ", ".join(map(repr, heapq.nsmallest(3, self.queue))) or "nobody"
        return f"t={self.clock:.1f} waiting[{len(self.queue)}]: {waiting}"

    def step(self, action: str):
        verb, *args = action.split()
        reward = 0.0
        info = {}
        if verb == "serve" and self.queue:
            entry = heapq.heappop(self.queue)
            wait = self.clock - entry.arrival.time
            reward = entry.arrival.severity - 0.1 * wait
            self.clock += self.SERVICE_TIME
            info["served"] = entry.arrival.describe()
        elif verb == "triage" and len(self.queue) > 1:
            level = int(args[0])
            self.queue = [e for e in self.queue if e.arrival.severity >= level] or self.queue
            heapq.heapify(self.queue)
            self.clock += 0.5
            reward = -0.2
        else:
            self.clock += 1.0
            reward = -0.05 * len(self.queue)
        info["admitted"] = self._admit()
        done = self.clock >= self.HORIZON or (not self.future and not self.queue)
        return self._obs(), round(reward, 3), done, info
