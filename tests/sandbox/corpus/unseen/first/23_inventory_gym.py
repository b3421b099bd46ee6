# seed: 19
# actions: [[5, 0, 3], [0, 0, 0], [10, 10, 10], [2, 2, 2], [0, 4, 1], [3, 3, 3], [0, 0, 0], [8, 1, 1], [0, 0, 5], [1, 1, 1]]
# expect_total: 63.0 after 10 steps
"""Multi-product inventory control with Poisson demand and lead times."""
from __future__ import annotations

from collections import deque
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

IntArray = npt.NDArray[np.int64]


class InventoryEnv(gym.Env[dict[str, np.ndarray], IntArray]):
    metadata = {"render_modes": []}

    def __init__(self, n_products: int = 3, lead_time: int = 2, horizon: int = 10) -> None:
        self.n = n_products
        self.lead_time = lead_time
        self.horizon = horizon
        self.action_space = spaces.MultiDiscrete([11] * n_products)
        self.observation_space = spaces.Dict(
            stock=spaces.Box(0, 200, (n_products,), dtype=np.int64),
            incoming=spaces.Box(0, 200, (lead_time, n_products), dtype=np.int64),
            day=spaces.Discrete(horizon + 1),
        )
        self._price = np.array([4.0, 6.0, 9.0])[:n_products]
        self._cost = self._price * 0.5
        self._hold = np.full(n_products, 0.1)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed, options=options)
        self._stock: IntArray = self.np_random.integers(3, 9, size=self.n)
        self._pipeline: deque[IntArray] = deque(np.zeros((self.lead_time, self.n), dtype=np.int64), maxlen=self.lead_time)
        self._rates = self.np_random.uniform(1.0, 5.0, size=self.n)
        self._day = 0
        return self._obs(), self._info()

    def _obs(self) -> dict[str, Any]:
        return {"stock": self._stock.copy(), "incoming": np.stack(self._pipeline), "day": self._day}

    def _info(self, lost: IntArray | None = None) -> dict[str, Any]:
        return {"lost_sales": [] if lost is None else lost.tolist()}

    def step(self, action: IntArray) -> tuple[dict[str, Any], SupportsFloat, bool, bool, dict[str, Any]]:
        order = np.asarray(action, dtype=np.int64)
        if not self.action_space.contains(order):
            raise gym.error.InvalidAction(f"bad order {order}")
        arrived = self._pipeline.popleft()
        self._pipeline.append(order)
        self._stock = self._stock + arrived
        demand = self.np_random.poisson(self._rates * (1 + 0.3 * np.sin(self._day)))
        sold = np.minimum(self._stock, demand)
        self._stock -= sold
        profit = sold @ self._price - order @ self._cost - self._stock @ self._hold
        self._day += 1
        return self._obs(), float(profit), False, self._day >= self.horizon, self._info(demand - sold)
