# seed: 4
# actions: ["honk", "south", "west", "west", "west", "west", "pickup", "east", "east", "east", "Dropoff"]
# expect_total: 1.0999999999999999 after 11 steps
"""A taxi environment written in gymnasium style, with spaces and a text renderer."""
import abc
from typing import Any, Generic, TypeVar

import numpy as np

ObsT = TypeVar("ObsT")
ActT = TypeVar("ActT")


class BaseEnv(abc.ABC, Generic[ObsT, ActT]):
    metadata: dict[str, Any] = {"render_modes": ["ansi"]}
    _np_random: np.random.Generator | None = None

    @property
    def np_random(self) -> np.random.Generator:
        if self._np_random is None:
            self._np_random = np.random.default_rng()
        return self._np_random

    def reset(self, seed: int | None = None) -> tuple[ObsT, dict]:
        if seed is not None or self._np_random is None:
            self._np_random = np.random.default_rng(seed)
        return self._reset()

    @abc.abstractmethod
    def _reset(self) -> tuple[ObsT, dict]:
        ...

    @abc.abstractmethod
    def step(self, action: ActT) -> tuple[ObsT, float, bool, bool, dict]:
        ...


class Discrete:
    def __init__(self, labels):
        self.labels = tuple(labels)
        self.n = len(self.labels)

    def contains(self, x) -> bool:
        return x in self.labels

    def index(self, x) -> int:
        return self.labels.index(x)


class Env(BaseEnv[str, str]):
    STOPS = {"R": (0, 0), "G": (0, 4), "Y": (4, 0), "B": (4, 3)}
    MOVES = np.array([[-1, 0], [1, 0], [0, 1], [0, -1]])

    def __init__(self):
        self.size = 5
        self.action_space = Discrete(["north", "south", "east", "west", "pickup", "dropoff"])
        self.max_episode_steps = 40

    def _reset(self):
        self.taxi = self.np_random.integers(0, self.size, size=2)
        names = list(self.STOPS)
        origin, dest = self.np_random.choice(len(names), size=2, replace=False)
        self.origin, self.destination = names[origin], names[dest]
        self.on_board = False
        self.passenger = np.array(self.STOPS[self.origin])
        self.elapsed = 0
        return self.render(), self._info()

    def _info(self):
        target = np.array(self.STOPS[self.destination]) if self.on_board else self.passenger
        return {"distance": int(np.abs(self.taxi - target).sum()), "elapsed": self.elapsed}

    def render(self) -> str:
        canvas = np.full((self.size, self.size), ".", dtype="<U1")
        for name, (r, c) in self.STOPS.items():
            canvas[r, c] = name
        canvas[tuple(self.taxi)] = "T" if not self.on_board else "@"
        grid = "\n".join(" ".join(row) for row in canvas)
        where = "in the taxi" if self.on_board else f"waiting at {self.origin}"
        return f"{grid}\nPassenger {where}, wants to go to {self.destination}.\nActions: {', '.join(self.action_space.labels)}"

    def step(self, action):
        action = action.strip().lower()
        self.elapsed += 1
        reward, terminated = -0.02, False
        if not self.action_space.contains(action):
            reward = -0.2
        else:
            idx = self.action_space.index(action)
            if idx < 4:
                self.taxi = np.clip(self.taxi + self.MOVES[idx], 0, self.size - 1)
            elif action == "pickup":
                if not self.on_board and np.array_equal(self.taxi, self.passenger):
                    self.on_board = True
                    reward += 0.5
                else:
                    reward = -0.2
            else:
                if self.on_board and np.array_equal(self.taxi, self.STOPS[self.destination]):
                    reward += 1.0
                    terminated = True
                else:
                    reward = -0.2
        truncated = bool(self.elapsed >= self.max_episode_steps and not terminated)
        return self.render(), float(reward), terminated, truncated, self._info()
