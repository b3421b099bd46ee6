# seed: 17
# actions: [0, 5, 10, 40, 15, -3, 20, 0, 10, 10]
# expect_total: 52.599999999999994 after 10 steps
import gymnasium as gym
from gymnasium import spaces
import numpy as np


class InventoryEnv(gym.Env):
    """Single-item newsvendor style inventory control.

    Action: number of units to order today (0..30).
    Reward: revenue - purchase - holding - stock-out cost.
    """

    metadata = {"render_modes": ["human", "ansi"]}

    def __init__(self, capacity=60, horizon=10, price=4.0, cost=1.5, holding=0.1, stockout=0.8):
        self.capacity = capacity
        self.horizon = horizon
        self.price, self.cost = price, cost
        self.holding, self.stockout = holding, stockout
        self.action_space = spaces.Discrete(31)
        self.observation_space = spaces.Dict(
            {
                "stock": spaces.Box(0, capacity, shape=(1,), dtype=np.float32),
                "pipeline": spaces.Box(0, capacity, shape=(2,), dtype=np.float32),
                "day": spaces.Discrete(horizon + 1),
            }
        )

    def _get_obs(self):
        return {
            "stock": np.array([self.stock], dtype=np.float32),
            "pipeline": np.asarray(self.pipeline, dtype=np.float32),
            "day": self.day,
        }

    def _get_info(self):
        return {"demand_mean": self.demand_mean}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.day = 0
        self.stock = int(self.np_random.integers(5, 20))
        self.pipeline = [0, 0]
        self.demand_mean = float(self.np_random.uniform(6, 14))
        return self._get_obs(), self._get_info()

    def step(self, action):
        if not self.action_space.contains(action):
            action = int(np.clip(action, 0, self.action_space.n - 1))
        arriving = self.pipeline.pop(0)
        self.pipeline.append(int(action))
        self.stock = min(self.capacity, self.stock + arriving)
        demand = int(self.np_random.poisson(self.demand_mean))
        sold = min(self.stock, demand)
        lost = demand - sold
        self.stock -= sold
        reward = self.price * sold - self.cost * action - self.holding * self.stock - self.stockout * lost
        self.day += 1
        terminated = self.day >= self.horizon
        info = self._get_info()
        info.update(sold=sold, lost=lost)
        return self._get_obs(), float(reward), terminated, False, info

    def render(self):
        print(f"Day {self.day}: stock={self.stock} pipeline={self.pipeline}")
