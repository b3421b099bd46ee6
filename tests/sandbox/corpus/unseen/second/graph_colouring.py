# seed: 64
# actions: [{"node": 0, "colour": 0}, {"node": 1, "colour": 1}, {"node": 2, "colour": 0}, {"node": 3, "colour": 2}, {"node": 9, "colour": 0}, {"node": 4, "colour": 1}, {"node": 5, "colour": 2}, {"node": 6, "colour": 0}, {"node": 2, "colour": 1}, {"node": 2, "colour": 2}]
# expect_total: -0.7 after 10 steps
from __future__ import annotations

from itertools import combinations
from typing import Any, TypedDict

import gymnasium as gym
from gymnasium import spaces
from gymnasium.utils import seeding


class ColourAction(TypedDict):
    node: int
    colour: int


class Observation(TypedDict):
    edges: list[tuple[int, int]]
    colours: list[int]
    text: str


class GraphColouringEnv(gym.Env):
    """Colour a planted 3-colourable random graph."""

    metadata = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(self, n_nodes: int = 7, n_colours: int = 3, edge_prob: float = 0.5) -> None:
        self.n_nodes = n_nodes
        self.n_colours = n_colours
        self.edge_prob = edge_prob
        self.action_space = spaces.Dict({"node": spaces.Discrete(n_nodes), "colour": spaces.Discrete(n_colours)})
        self.observation_space = spaces.MultiDiscrete([n_colours + 1] * n_nodes)
        self._rng, _ = seeding.np_random(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        self._rng, actual_seed = seeding.np_random(seed)
        planted = [i % self.n_colours for i in range(self.n_nodes)]
        self._rng.shuffle(planted)
        self.edges: list[tuple[int, int]] = [
            (a, b)
            for a, b in combinations(range(self.n_nodes), 2)
            if planted[a] != planted[b] and self._rng.random() < self.edge_prob
        ]
        self.colours: list[int] = [-1] * self.n_nodes
        self.changes = 0
        return self._observe(), {"seed": actual_seed}

    def _conflicts(self) -> list[tuple[int, int]]:
        return [(a, b) for a, b in self.edges if self.colours[a] == self.colours[b] != -1]

    def _observe(self) -> Observation:
        palette = dict(enumerate(["red", "green", "blue", "yellow"]))
        text = ", ".join(f"{i}={palette.get(c, 'none')}" for i, c in enumerate(self.colours))
        return Observation(edges=list(self.edges), colours=list(self.colours), text=text)

    def step(self, action: ColourAction) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if not self.action_space["node"].contains(action["node"]) or action["colour"] not in range(self.n_colours):
            return self._observe(), -0.5, False, False, {"error": "invalid action"}
        before = len(self._conflicts())
        filled_before = self.colours.count(-1)
        self.colours[action["node"]] = action["colour"]
        self.changes += 1
        conflicts = self._conflicts()
        reward = 0.1 * (filled_before - self.colours.count(-1)) - 0.3 * (len(conflicts) - before)
        terminated = -1 not in self.colours and not conflicts
        if terminated:
            reward += 2.0
        return self._observe(), reward, terminated, self.changes >= 3 * self.n_nodes, {"conflicts": conflicts}
