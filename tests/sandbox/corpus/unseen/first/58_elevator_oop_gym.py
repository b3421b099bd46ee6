# seed: 52
# actions: [1, 1, 3, 1, 3, 0, 2, 2, 3, 1, 1, 3, 7, 0, 3, 2, 3]
# expect_total: 3.31 after 17 steps
from __future__ import annotations

import abc
import heapq
import itertools
from typing import Any, Callable, Deque, List, Optional, Tuple
from collections import deque

import gymnasium as gym
from gymnasium import spaces


class Event(abc.ABC):
    def __init__(self, time: int) -> None:
        self.time = time

    @abc.abstractmethod
    def fire(self, building: "ElevatorEnv") -> None:
        raise NotImplementedError


class ArrivalEvent(Event):
    def __init__(self, time: int, passenger: "Passenger") -> None:
        super().__init__(time)
        self.passenger = passenger

    def fire(self, building: "ElevatorEnv") -> None:
        building.floors[self.passenger.origin].append(self.passenger)
        building.notify("arrival", self.passenger)


class EventQueue:
    def __init__(self) -> None:
        self._heap: List[Tuple[int, int, Event]] = []
        self._tie = itertools.count()

    def push(self, event: Event) -> None:
        heapq.heappush(self._heap, (event.time, next(self._tie), event))

    def pop_due(self, now: int):
        while self._heap and self._heap[0][0] <= now:
            yield heapq.heappop(self._heap)[2]

    def __bool__(self) -> bool:
        return bool(self._heap)


class Passenger:
    _ids = itertools.count(1)

    def __init__(self, origin: int, destination: int, born: int) -> None:
        self.id = next(Passenger._ids)
        self.origin = origin
        self.destination = destination
        self.born = born

    def __str__(self) -> str:
        return f"P({self.origin}->{self.destination})"


class ElevatorEnv(gym.Env):
    """Actions: 0 wait, 1 up, 2 down, 3 open the doors."""

    metadata = {"render_modes": ["ansi"]}

    def __init__(self, n_floors: int = 4, capacity: int = 3, n_passengers: int = 6) -> None:
        super().__init__()
        self.n_floors, self.capacity, self.n_passengers = n_floors, capacity, n_passengers
        self.action_space = spaces.Discrete(4)
        self.observation_space = spaces.Text(max_length=400)
        self._observers: List[Callable[[str, Any], None]] = []

    def subscribe(self, callback: Callable[[str, Any], None]) -> None:
        self._observers.append(callback)

    def notify(self, topic: str, payload: Any) -> None:
        for callback in self._observers:
            callback(topic, payload)

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None):
        super().reset(seed=seed)
        self._observers.clear()
        self.messages: List[str] = []
        self.subscribe(lambda topic, payload: self.messages.append(f"{topic}: {payload}"))
        self.now, self.floor, self.delivered = 0, 0, 0
        self.cabin: List[Passenger] = []
        self.floors: List[Deque[Passenger]] = [deque() for _ in range(self.n_floors)]
        self.events = EventQueue()
        for _ in range(self.n_passengers):
            a, b = self.np_random.choice(self.n_floors, size=2, replace=False).tolist()
            t = int(self.np_random.integers(0, 10))
            self.events.push(ArrivalEvent(t, Passenger(a, b, t)))
        self._advance()
        return self._observation(), {}

    def _advance(self) -> None:
        for event in self.events.pop_due(self.now):
            event.fire(self)

    def _observation(self) -> str:
        lines = [f"t={self.now} delivered={self.delivered}/{self.n_passengers}"]
        for f in reversed(range(self.n_floors)):
            marker = "[" + ",".join(str(p.destination) for p in self.cabin) + "]" if f == self.floor else "   "
            lines.append(f"{f} {marker} {' '.join(map(str, self.floors[f]))}".rstrip())
        return "\n".join(lines)

    def step(self, action: int):
        self.messages.clear()
        reward = 0.0
        if not self.action_space.contains(action):
            reward -= 1.0
        elif action in (1, 2):
            target = self.floor + (1 if action == 1 else -1)
            if 0 <= target < self.n_floors:
                self.floor = target
            else:
                reward -= 0.5
        elif action == 3:
            leaving = [p for p in self.cabin if p.destination == self.floor]
            self.cabin = [p for p in self.cabin if p not in leaving]
            for p in leaving:
                self.delivered += 1
                reward += max(0.2, 2.0 - 0.05 * (self.now - p.born))
                self.notify("delivered", p)
            while self.floors[self.floor] and len(self.cabin) < self.capacity:
                self.cabin.append(self.floors[self.floor].popleft())
        self.now += 1
        self._advance()
        waiting = sum(map(len, self.floors))
        reward -= 0.02 * (waiting + len(self.cabin))
        terminated = self.delivered == self.n_passengers and not self.events
        return self._observation(), reward, terminated, self.now >= 60, {"messages": list(self.messages)}

    def render(self) -> str:
        return self._observation()
