# seed: 15
# actions: [1, 1, 0, 2, 0, 1, 0, 0, 2, 1, 0, 2]
# expect_total: 14.956403721 after 12 steps
import gymnasium as gym
import numpy as np
from gymnasium import spaces
from collections import deque
from statistics import mean, pstdev


class TradingEnv(gym.Env):
    """
    A minimal stock trading environment.

    Actions: 0 = hold, 1 = buy one share, 2 = sell one share.
    Prices follow a mean reverting (Ornstein-Uhlenbeck) process.
    """

    metadata = {"render.modes": ["human"]}

    def __init__(self, window=5, episode_length=12, initial_cash=1000.0, fee=0.001):
        super().__init__()
        self.window = window
        self.episode_length = episode_length
        self.initial_cash = initial_cash
        self.fee = fee
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Box(low=-np.inf, high=np.inf, shape=(window + 2,), dtype=np.float64)

    def _next_price(self):
        mu, theta, sigma = 100.0, 0.15, 3.0
        self.price += theta * (mu - self.price) + sigma * self.np_random.standard_normal()
        self.price = max(1.0, float(self.price))
        self.history.append(self.price)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        options = options or {}
        self.cash = options.get("cash", self.initial_cash)
        self.shares = 0
        self.price = 100.0 + self.np_random.uniform(-10, 10)
        self.history = deque([self.price], maxlen=self.window)
        for _ in range(self.window - 1):
            self._next_price()
        self.current_step = 0
        return self._get_observation(), self._get_info()

    @property
    def net_worth(self):
        return self.cash + self.shares * self.price

    def _get_observation(self):
        m, s = mean(self.history), pstdev(self.history) or 1.0
        norm = [(p - m) / s for p in self.history]
        return np.array(norm + [self.shares, self.cash / self.initial_cash], dtype=np.float64)

    def _get_info(self):
        return {"net_worth": round(self.net_worth, 2), "price": round(self.price, 2)}

    def step(self, action):
        assert self.action_space.contains(int(action))
        before = self.net_worth
        if action == 1 and self.cash >= self.price * (1 + self.fee):
            self.cash -= self.price * (1 + self.fee)
            self.shares += 1
        elif action == 2 and self.shares > 0:
            self.cash += self.price * (1 - self.fee)
            self.shares -= 1
        self._next_price()
        self.current_step += 1
        reward = self.net_worth - before
        terminated = self.net_worth <= 0
        truncated = self.current_step >= self.episode_length
        return self._get_observation(), reward, terminated, truncated, self._get_info()

    def render(self, mode="human"):
        print(f"Step: {self.current_step}, Net worth: {self.net_worth:.2f}")
