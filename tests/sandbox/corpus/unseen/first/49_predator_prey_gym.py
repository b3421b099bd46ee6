# seed: 20
# actions: [0, 1, 2, 0, 0, 3, 1, 0, 2, 0, 1, 1, 0, 0, 3]
# expect_total: 5.288403662 after 15 steps
"""Wildlife management: stochastic Lotka-Volterra dynamics with interventions."""
from enum import IntEnum

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Action(IntEnum):
    NOTHING = 0
    CULL_PREDATORS = 1
    RELEASE_PREY = 2
    SURVEY = 3


class PredatorPreyEnv(gym.Env):
    """Keep both populations alive for `horizon` seasons.

    The observation is a noisy count; SURVEY makes the next observation exact.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}
    reward_range = (-10.0, 10.0)

    def __init__(self, horizon=15, dt=0.05, substeps=20):
        self.horizon = horizon
        self.dt = dt
        self.substeps = substeps
        self.action_space = spaces.Discrete(len(Action))
        self.observation_space = spaces.Box(0.0, np.inf, shape=(2,), dtype=np.float64)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.pop = self.np_random.uniform([30.0, 5.0], [50.0, 12.0])
        self.params = {
            "alpha": self.np_random.uniform(0.8, 1.2),
            "beta": 0.1,
            "gamma": self.np_random.uniform(1.0, 1.6),
            "delta": 0.03,
        }
        self.season = 0
        self.exact = True
        self.trajectory = [self.pop.copy()]
        return self._observe(), {}

    def _derivative(self, p):
        x, y = p
        k = self.params
        return np.array([k["alpha"] * x - k["beta"] * x * y, k["delta"] * x * y - k["gamma"] * y])

    def _rk4(self, p):
        h = self.dt
        k1 = self._derivative(p)
        k2 = self._derivative(p + h / 2 * k1)
        k3 = self._derivative(p + h / 2 * k2)
        k4 = self._derivative(p + h * k3)
        return p + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def _observe(self):
        obs = self.pop.copy()
        if not self.exact:
            obs *= self.np_random.lognormal(0.0, 0.15, size=2)
        self.exact = False
        return np.round(obs, 1)

    def step(self, action):
        act = Action(int(action))
        cost = 0.0
        if act is Action.CULL_PREDATORS:
            self.pop[1] *= 0.6
            cost = 0.3
        elif act is Action.RELEASE_PREY:
            self.pop[0] += 15
            cost = 0.4
        elif act is Action.SURVEY:
            self.exact = True
            cost = 0.1
        for _ in range(self.substeps):
            self.pop = np.maximum(self._rk4(self.pop), 0.0)
        self.pop *= np.exp(self.np_random.normal(0, 0.05, size=2))
        self.season += 1
        self.trajectory.append(self.pop.copy())
        extinct = bool((self.pop < 1.0).any())
        balance = 1.0 - min(1.0, abs(np.log(self.pop[0] / max(self.pop[1], 1e-9)) - 1.4) / 2)
        reward = -5.0 if extinct else float(balance) - cost
        return self._observe(), reward, extinct, self.season >= self.horizon, {"season": self.season}

    def render(self):
        t = np.asarray(self.trajectory)
        return f"mean={t.mean(axis=0).round(2).tolist()} std={t.std(axis=0).round(2).tolist()}"
