# seed: 52
# actions: [0, 0, 1, 3, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 2, 2, 0, 0]
# expect_total: 0.86929214 after 25 steps
r"""Two-dimensional lander with exact unit handling.

Dynamics
--------
Semi-implicit Euler integration of

    v' = g + u
    x' = v

with a fixed time step ``DT`` (seconds).

Observation
-----------
A ``float32`` Box of shape ``(5,)``: ``[x, y, vx, vy, fuel]``.

Actions
-------
=====  ==================
value  meaning
=====  ==================
0      coast
1      main engine
2      main engine, half
3      side thruster (left)
=====  ==================
"""
from __future__ import annotations

import math
from typing import Any, ClassVar, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete

G = -1.62  # lunar gravity, m/s^2
DT = 0.5
MAX_SAFE_SPEED = 1.5


class LanderEnv(gym.Env[np.ndarray, int]):
    """See the module docstring.

    Attributes:
        action_space: Four discrete actions.
        observation_space: Unbounded positions and speeds, fuel in [0, 1].
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self) -> None:
        high = np.array([np.inf, np.inf, np.inf, np.inf, 1.0], dtype=np.float32)
        self.observation_space = Box(low=-high, high=high, dtype=np.float32)
        self.action_space = Discrete(4)
        self.x = self.y = self.vx = self.vy = 0.0
        self.fuel = 1.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start above the pad with a random sideways drift."""
        super().reset(seed=seed)
        self.x = float(self.np_random.uniform(-3, 3))
        self.y = 12.0
        self.vx = round(float(self.np_random.normal(0, 0.3)), 3)
        self.vy = 0.0
        self.fuel = 1.0
        return self._observe(), self._snapshot()

    def _observe(self) -> np.ndarray:
        return np.array([self.x, self.y, self.vx, self.vy, self.fuel], dtype=np.float32)

    def _snapshot(self) -> dict[str, Any]:
        """All plain numeric attributes, for logging."""
        return {k: round(v, 3) for k, v in vars(self).items() if isinstance(v, float)}

    def _potential(self) -> float:
        return -math.hypot(self.x, self.y) / 10 - 0.1 * math.hypot(self.vx, self.vy)

    def step(self, action: int) -> tuple[np.ndarray, SupportsFloat, bool, bool, dict[str, Any]]:
        """Advance by one time step."""
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"{action!r} ({type(action)}) invalid")
        before = self._potential()
        ax, ay = 0.0, G
        if self.fuel > 0:
            if action in (1, 2):
                thrust = 4.0 / action
                ay += thrust
                self.fuel -= 0.05 * thrust / 2
            elif action == 3:
                ax -= math.copysign(0.5, self.x)
                self.fuel -= 0.02
        self.fuel = max(0.0, self.fuel)
        self.vx += ax * DT
        self.vy += ay * DT
        self.x += self.vx * DT
        self.y += self.vy * DT
        terminated = self.y <= 0
        reward = self._potential() - before
        if terminated:
            soft = abs(self.vy) <= MAX_SAFE_SPEED and math.isclose(self.x, 0, abs_tol=4)
            reward += 1.0 + self.fuel if soft else -1.0
        return self._observe(), np.float64(reward), terminated, False, self._snapshot()
