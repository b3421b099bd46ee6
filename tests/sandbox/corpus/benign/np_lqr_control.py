# seed: 88
# actions: [[0.0], [1.0], [-0.5], "lqr", [2.5], "lqr", "lqr", [0.0], "lqr"]
# expect_total: -2.17499821 after 9 steps
"""Double integrator with process noise. ``"lqr"`` plays the optimal feedback."""
from __future__ import annotations

from functools import cached_property

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding


class DoubleIntegrator(gym.Env):
    A = np.array([[1.0, 0.1], [0.0, 1.0]])
    B = np.array([[0.005], [0.1]])
    Q = np.diag([1.0, 0.1])
    R = np.array([[0.05]])

    def __init__(self, horizon: int = 30):
        self.horizon = horizon
        self.action_space = spaces.Box(-2.0, 2.0, shape=(1,), dtype=np.float64)
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(2,), dtype=np.float64)

    @cached_property
    def gain(self) -> np.ndarray:
        """Discrete Riccati iteration."""
        P = self.Q.copy()
        for _ in range(300):
            BtP = self.B.T @ P
            K = np.linalg.solve(self.R + BtP @ self.B, BtP @ self.A)
            P_next = self.Q + self.A.T @ P @ (self.A - self.B @ K)
            if np.max(np.abs(P_next - P)) < 1e-10:
                break
            P = P_next
        return K

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._noise_rng, _ = seeding.np_random(None if seed is None else seed + 1)
        self.state = self.np_random.uniform(low=-1, high=1, size=(2,))
        self.t = 0
        radius = np.abs(np.linalg.eigvals(self.A - self.B @ self.gain)).max()
        return self.state.copy(), {"stable": bool(radius < 1)}

    def cost(self, u: np.ndarray) -> float:
        x = self.state
        return float(np.einsum("i,ij,j->", x, self.Q, x) + np.einsum("i,ij,j->", u, self.R, u))

    def step(self, action):
        u = -self.gain @ self.state if isinstance(action, str) else np.asarray(action, dtype=float)
        clipped = np.clip(u, self.action_space.low, self.action_space.high)
        saturated = not self.action_space.contains(u)
        reward = -self.cost(clipped) - 0.1 * saturated
        noise = self._noise_rng.multivariate_normal(np.zeros(2), 1e-4 * np.eye(2), method="cholesky")
        self.state = self.A @ self.state + (self.B @ clipped).squeeze() + noise
        self.t += 1
        terminated = bool(np.linalg.norm(self.state) < 0.02)
        info = {"u": float(clipped[0]), "saturated": saturated, "in_space": self.observation_space.contains(self.state)}
        return self.state.copy(), reward, terminated, self.t >= self.horizon, info
