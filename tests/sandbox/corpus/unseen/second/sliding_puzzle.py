# seed: 7
# actions: ["up", "left", "down", "right", "up", "up", "left", "diagonal", "down", "left", "right", "right"]
# expect_total: -1.5999999999999996 after 12 steps
import numpy as np
import gymnasium as gym
from gymnasium import spaces


class SlidingPuzzleEnv(gym.Env):
    """8-puzzle with a dense Manhattan-distance reward and text observations."""

    metadata = {"render_modes": ["ansi"]}
    ACTIONS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}

    def __init__(self, size: int = 3, scramble: int = 20, max_steps: int = 50, render_mode=None):
        super().__init__()
        self.size = size
        self.scramble = scramble
        self.max_steps = max_steps
        self.render_mode = render_mode
        self.action_space = spaces.Text(max_length=16)
        self.observation_space = spaces.Text(max_length=512)
        self.goal = np.roll(np.arange(size * size), -1).reshape(size, size)
        self.board = self.goal.copy()

    def _blank(self):
        r, c = np.argwhere(self.board == 0)[0]
        return int(r), int(c)

    def _move(self, action):
        dr, dc = self.ACTIONS[action]
        r, c = self._blank()
        nr, nc = r + dr, c + dc
        if not (0 <= nr < self.size and 0 <= nc < self.size):
            return False
        self.board[r, c], self.board[nr, nc] = self.board[nr, nc], self.board[r, c]
        return True

    def _distance(self):
        total = 0
        for value in range(1, self.size ** 2):
            pos = np.argwhere(self.board == value)[0]
            target = np.argwhere(self.goal == value)[0]
            total += np.abs(pos - target).sum()
        return int(total)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.board = self.goal.copy()
        names = list(self.ACTIONS)
        for _ in range(self.scramble):
            self._move(names[self.np_random.integers(len(names))])
        self.steps = 0
        return self.render(), {"distance": self._distance()}

    def step(self, action):
        self.steps += 1
        action = action.lower().strip()
        before = self._distance()
        if action not in self.ACTIONS:
            return f"Invalid action: {action}\n" + self.render(), -1.0, False, self.steps >= self.max_steps, {}
        moved = self._move(action)
        after = self._distance()
        terminated = bool(np.array_equal(self.board, self.goal))
        reward = 0.1 * (before - after) - (0.0 if moved else 0.2)
        if terminated:
            reward += 10.0
        truncated = self.steps >= self.max_steps
        return self.render(), float(reward), terminated, truncated, {"distance": after}

    def render(self):
        return "\n".join(" ".join("." if v == 0 else str(v) for v in row) for row in self.board)
