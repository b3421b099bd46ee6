# seed: 41
# actions: ["right", "right", "down", "down", "left", "up", "fly", "down", "right", "right", "down", "down"]
# expect_total: -1.19 after 10 steps
"""Slippery ice lake with a text wrapper on top of a discrete Gymnasium env."""
from typing import Any, Dict, Optional, Tuple

import gymnasium as gym
from gymnasium import spaces
from gymnasium.utils import seeding


def generate_random_map(size: int, p: float, rng) -> list:
    """Generate a map with a path from start to goal (depth first search)."""

    def is_valid(board) -> bool:
        frontier, discovered = [(0, 0)], set()
        while frontier:
            r, c = frontier.pop()
            if (r, c) in discovered:
                continue
            discovered.add((r, c))
            for dr, dc in [(1, 0), (0, 1), (-1, 0), (0, -1)]:
                nr, nc = r + dr, c + dc
                if not (0 <= nr < size and 0 <= nc < size):
                    continue
                if board[nr][nc] == "G":
                    return True
                if board[nr][nc] != "H":
                    frontier.append((nr, nc))
        return False

    while True:
        board = [["F" if rng.random() < p else "H" for _ in range(size)] for _ in range(size)]
        board[0][0], board[-1][-1] = "S", "G"
        if is_valid(board):
            return ["".join(row) for row in board]


class IceLakeEnv(gym.Env):
    metadata = {"render_modes": ["ansi"]}

    def __init__(self, size: int = 4, slip: float = 0.1):
        self.size = size
        self.slip = slip
        self.observation_space = spaces.Discrete(size * size)
        self.action_space = spaces.Discrete(4)

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None):
        super().reset(seed=seed)
        map_rng, self.map_seed = seeding.np_random(seed)
        self.desc = generate_random_map(self.size, 0.8, map_rng)
        self.pos = 0
        return self.pos, {"prob": 1.0}

    def step(self, action: int):
        if self.np_random.random() < self.slip:
            action = (action + int(self.np_random.choice([-1, 1]))) % 4
        r, c = divmod(self.pos, self.size)
        dr, dc = ((0, -1), (1, 0), (0, 1), (-1, 0))[action]
        r = min(max(r + dr, 0), self.size - 1)
        c = min(max(c + dc, 0), self.size - 1)
        self.pos = r * self.size + c
        tile = self.desc[r][c]
        return self.pos, float(tile == "G"), tile in "GH", False, {"tile": tile}


class TextLake(gym.Wrapper):
    """Turns integers into sentences and words into integers."""

    WORDS = {"left": 0, "down": 1, "right": 2, "up": 3}

    def __init__(self, env: Optional[gym.Env] = None):
        super().__init__(env if env is not None else IceLakeEnv())
        self.observation_space = spaces.Text(max_length=200)

    def _describe(self, pos: int) -> str:
        base: IceLakeEnv = self.env.unwrapped
        r, c = divmod(pos, base.size)
        rows = [row if i != r else row[:c] + "@" + row[c + 1:] for i, row in enumerate(base.desc)]
        return "\n".join(rows)

    def reset(self, **kwargs) -> Tuple[str, Dict[str, Any]]:
        obs, info = self.env.reset(**kwargs)
        self.turns = 0
        return self._describe(obs), info

    def step(self, action: str):
        self.turns += 1
        if action not in self.WORDS:
            return f"Say one of {sorted(self.WORDS)}.", -0.1, False, self.turns >= 30, {"error": "bad word"}
        obs, reward, terminated, truncated, info = self.env.step(self.WORDS[action])
        if info["tile"] == "H":
            reward -= 1.0
        return self._describe(obs), reward - 0.01, terminated, truncated or self.turns >= 30, info
