# seed: 9
# actions: [0, 3, 2, 3, 4, 5, 1, 5, 0, 3, 2, 3]
# expect_total: -0.4 after 12 steps
"""Water jugs puzzle as a Gymnasium environment."""
import math
from collections import deque
from typing import Optional

import gymnasium as gym
from gymnasium import spaces
from gymnasium.envs.registration import register


class WaterJugsEnv(gym.Env):
    """
    Two jugs with capacities `a` and `b`; measure exactly `target` litres.

    Action space (Discrete(6)):
        0: fill A      1: fill B
        2: empty B     3: pour A into B
        4: pour B into A   5: empty A
    """

    metadata = {"render_modes": ["human", "ansi"], "render_fps": 1}

    def __init__(self, render_mode: Optional[str] = None):
        super().__init__()
        assert render_mode is None or render_mode in self.metadata["render_modes"]
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(6)
        self.observation_space = spaces.Tuple((spaces.Discrete(16), spaces.Discrete(16), spaces.Discrete(16)))

    def _solve(self) -> int:
        """Breadth first search for the optimal number of moves."""
        seen = {(0, 0): 0}
        queue = deque([(0, 0)])
        while queue:
            state = queue.popleft()
            if self.target in state:
                return seen[state]
            for act in range(6):
                nxt = self._apply(state, act)
                if nxt not in seen:
                    seen[nxt] = seen[state] + 1
                    queue.append(nxt)
        return -1

    def _apply(self, state, action):
        x, y = state
        if action == 0:
            x = self.a
        elif action == 1:
            y = self.b
        elif action == 2:
            y = 0
        elif action == 3:
            d = min(x, self.b - y)
            x, y = x - d, y + d
        elif action == 4:
            d = min(y, self.a - x)
            x, y = x + d, y - d
        elif action == 5:
            x = 0
        return x, y

    def reset(self, seed: Optional[int] = None, options: Optional[dict] = None):
        super().reset(seed=seed)
        while True:
            self.a, self.b = (int(v) for v in self.np_random.integers(3, 12, size=2))
            if self.a != self.b and math.gcd(self.a, self.b) == 1:
                break
        self.target = int(self.np_random.integers(1, max(self.a, self.b)))
        self.state = (0, 0)
        self.optimal = self._solve()
        self.n = 0
        return self._get_obs(), self._get_info()

    def _get_obs(self):
        return (*self.state, self.target)

    def _get_info(self):
        return {"capacities": (self.a, self.b), "optimal": self.optimal}

    def step(self, action):
        previous = self.state
        self.state = self._apply(self.state, int(action))
        self.n += 1
        terminated = self.target in self.state
        reward = 0.0
        if terminated:
            reward = self.optimal / self.n
        elif previous == self.state:
            reward = -0.2
        if self.render_mode == "human":
            self.render()
        return self._get_obs(), reward, terminated, self.n >= 30, self._get_info()

    def render(self):
        text = f"A: {self.state[0]}/{self.a}  B: {self.state[1]}/{self.b}  target {self.target}"
        if self.render_mode == "human":
            print(text)
        return text


register(id="WaterJugs-v0", entry_point=WaterJugsEnv, max_episode_steps=30)
