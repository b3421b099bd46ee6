# seed: 37
# actions: [0, 3, 3, 5, 1, 7, 2, 8]
# expect_total: 0.15116279069767447 after 8 steps
import gymnasium as gym
from gymnasium import spaces
from gymnasium.envs.registration import register
import random


class KnapsackEnv(gym.Env):
    def __init__(self, n_items=8, max_weight=15, max_value=20):
        super().__init__()
        self.n_items = n_items
        self.max_weight = max_weight
        self.max_value = max_value
        # last action = finish
        self.action_space = spaces.Discrete(n_items + 1)
        self.observation_space = spaces.Text(max_length=1000)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        rng = random.Random(seed)
        self.items = [
            {"weight": rng.randint(1, self.max_weight), "value": rng.randint(1, self.max_value)} for _ in range(self.n_items)
        ]
        self.capacity = sum(item["weight"] for item in self.items) // 2
        self.chosen = []
        self.optimal = self._solve_dp()
        return self._get_obs(), {"capacity": self.capacity}

    def _solve_dp(self):
        dp = [0] * (self.capacity + 1)
        for item in self.items:
            for w in range(self.capacity, item["weight"] - 1, -1):
                dp[w] = max(dp[w], dp[w - item["weight"]] + item["value"])
        return dp[self.capacity]

    @property
    def weight(self):
        return sum(self.items[i]["weight"] for i in self.chosen)

    @property
    def value(self):
        return sum(self.items[i]["value"] for i in self.chosen)

    def _get_obs(self):
        lines = [f"Capacity: {self.weight}/{self.capacity}, value: {self.value}"]
        for i, item in enumerate(self.items):
            mark = "x" if i in self.chosen else " "
            lines.append("[{}] {}: weight {weight}, value {value}".format(mark, i, **item))
        lines.append(f"Choose an item number, or {self.n_items} to finish.")
        return "\n".join(lines)

    def step(self, action):
        terminated = False
        if action == self.n_items:
            terminated = True
            reward = self.value / self.optimal
        elif action in self.chosen:
            reward = -0.1
        elif self.weight + self.items[action]["weight"] > self.capacity:
            reward = -0.2
        else:
            self.chosen.append(action)
            reward = 0.0
        return self._get_obs(), reward, terminated, False, {"value": self.value, "optimal": self.optimal}


register(id="TextKnapsack-v0", entry_point=KnapsackEnv)
