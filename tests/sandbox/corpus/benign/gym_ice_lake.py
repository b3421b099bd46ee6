# seed: 123
# actions: [2, 1, 1, 2, 0, 1, 2, 2, 1, 1, 2, 3, 1, 2, 1]
# expect_total: 1.5 after 14 steps
"""FrozenLake-like environment with slipping, following the Gymnasium API."""
import gymnasium as gym
import numpy as np
from gymnasium import spaces

LEFT, DOWN, RIGHT, UP = range(4)
DELTAS = {LEFT: (0, -1), DOWN: (1, 0), RIGHT: (0, 1), UP: (-1, 0)}


class IceLakeEnv(gym.Env):
    """Slide to the goal; thin ice breaks.

    Observation: ``Dict(agent=MultiDiscrete, thin=MultiBinary)``.
    Reward: 1 for the goal, -1 for water, +0.05 for every newly seen cell.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, size: int = 5, slip: float = 0.2, render_mode: str | None = None):
        super().__init__()
        assert render_mode is None or render_mode in self.metadata["render_modes"]
        self.size = size
        self.slip = slip
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(4)
        self.observation_space = spaces.Dict(
            {
                "agent": spaces.MultiDiscrete([size, size]),
                "thin": spaces.MultiBinary(size * size),
            }
        )

    def _get_obs(self):
        return {"agent": self.agent.copy(), "thin": self.thin.flatten().astype(np.int8)}

    def _get_info(self):
        return {"distance": int(np.abs(self.agent - (self.size - 1)).sum())}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.thin = self.np_random.random((self.size, self.size)) < 0.12
        self.thin[0, 0] = self.thin[-1, -1] = False
        self.agent = np.array([0, 0])
        self.visited = {(0, 0)}
        return self._get_obs(), self._get_info()

    def step(self, action):
        assert self.action_space.contains(action), f"bad action {action!r}"
        if self.np_random.random() < self.slip:
            action = int(self.np_random.integers(0, 4))
        self.agent = np.clip(self.agent + np.array(DELTAS[int(action)]), 0, self.size - 1)
        cell = tuple(int(v) for v in self.agent)
        reward = 0.0
        if cell not in self.visited:
            self.visited.add(cell)
            reward += 0.05
        drowned = bool(self.thin[cell])
        won = cell == (self.size - 1, self.size - 1)
        if drowned:
            reward -= 1.0
        if won:
            reward += 1.0
        return self._get_obs(), reward, drowned or won, False, self._get_info()

    def render(self):
        if self.render_mode != "ansi":
            return None
        grid = np.where(self.thin, "o", ".")
        grid[tuple(self.agent)] = "A"
        return "\n".join("".join(row) for row in grid)

    def close(self):
        pass


if __name__ == "__main__":
    env = IceLakeEnv(render_mode="ansi")
    env.reset(seed=0)
    print(env.render())
