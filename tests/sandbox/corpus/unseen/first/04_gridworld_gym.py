# seed: 7
# actions: [0, 1, 1, 2, 1, 2, 3, 2, 2, 1, 1, 0, 0, 3, 2, 1, 1, 1, 2, 2]
# expect_total: 4.9 after 11 steps
import gymnasium as gym
from gymnasium import spaces
import numpy as np


class TreasureGridEnv(gym.Env):
    """A simple grid world: collect treasures, avoid traps, reach the exit."""

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 4}

    def __init__(self, size=6, render_mode=None):
        super().__init__()
        self.size = size
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(4)
        self.observation_space = spaces.Dict(
            {
                "agent": spaces.Box(0, size - 1, shape=(2,), dtype=np.int64),
                "exit": spaces.Box(0, size - 1, shape=(2,), dtype=np.int64),
                "map": spaces.Text(max_length=200),
            }
        )
        self._action_to_direction = {
            0: np.array([-1, 0]),
            1: np.array([0, 1]),
            2: np.array([1, 0]),
            3: np.array([0, -1]),
        }

    def _get_obs(self):
        return {"agent": self._agent.copy(), "exit": self._exit.copy(), "map": self.render_text()}

    def _get_info(self):
        return {"distance": float(np.linalg.norm(self._agent - self._exit, ord=1))}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        cells = self.np_random.permutation(self.size * self.size)
        coords = [np.array(divmod(int(c), self.size)) for c in cells]
        self._agent, self._exit = coords[0], coords[1]
        self._treasures = {tuple(int(x) for x in c) for c in coords[2:7]}
        self._traps = {tuple(int(x) for x in c) for c in coords[7:10]}
        self._steps = 0
        return self._get_obs(), self._get_info()

    def step(self, action):
        direction = self._action_to_direction[int(action)]
        self._agent = np.clip(self._agent + direction, 0, self.size - 1)
        self._steps += 1
        pos = tuple(self._agent.tolist())
        reward = -0.1
        if pos in self._treasures:
            self._treasures.remove(pos)
            reward += 1.0
        if pos in self._traps:
            reward -= 2.0
        terminated = bool(np.array_equal(self._agent, self._exit))
        if terminated:
            reward += 5.0
        truncated = self._steps >= 50
        return self._get_obs(), reward, terminated, truncated, self._get_info()

    def render_text(self):
        rows = []
        for r in range(self.size):
            row = ""
            for c in range(self.size):
                if (r, c) == tuple(self._agent.tolist()):
                    row += "A"
                elif (r, c) == tuple(self._exit.tolist()):
                    row += "E"
                elif (r, c) in self._treasures:
                    row += "$"
                else:
                    row += "."
            rows.append(row)
        return "\n".join(rows)

    def render(self):
        if self.render_mode == "ansi":
            return self.render_text()
        print(self.render_text())

    def close(self):
        pass
