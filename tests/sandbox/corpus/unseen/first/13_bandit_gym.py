# seed: 0
# actions: [0, 1, 2, 3, 4, 2, 2, 3, 3, 0, 1, 4, 4, 4, 4, 2, 2, 2, 2, 2]
# expect_total: 7.32934824 after 20 steps
import gymnasium as gym
from gymnasium.spaces import Discrete, Box
import numpy as np


class DriftingBanditEnv(gym.Env):
    """Non-stationary multi-armed bandit.

    Each arm's mean performs a Gaussian random walk. The observation is a vector
    of the running average reward of each arm.
    """

    def __init__(self, n_arms: int = 5, horizon: int = 20, drift: float = 0.1):
        self.n_arms = n_arms
        self.horizon = horizon
        self.drift = drift
        self.action_space = Discrete(n_arms)
        self.observation_space = Box(low=-np.inf, high=np.inf, shape=(n_arms,), dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.means = self.np_random.normal(0.0, 1.0, size=self.n_arms)
        self.counts = np.zeros(self.n_arms, dtype=int)
        self.sums = np.zeros(self.n_arms)
        self.regret = 0.0
        self.t = 0
        return self._obs(), {}

    def _obs(self):
        with np.errstate(divide="ignore", invalid="ignore"):
            avg = np.where(self.counts > 0, self.sums / self.counts, 0.0)
        return avg.astype(np.float32)

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} ({type(action)}) invalid"
        reward = self.np_random.normal(self.means[action], 0.5)
        self.regret += self.means.max() - self.means[action]
        self.counts[action] += 1
        self.sums[action] += reward
        self.means += self.np_random.normal(0.0, self.drift, size=self.n_arms)
        self.t += 1
        truncated = self.t >= self.horizon
        return self._obs(), float(reward), False, truncated, {"regret": float(self.regret)}

    def render(self):
        return " ".join(f"arm{i}:{m:.2f}" for i, m in enumerate(self._obs()))
