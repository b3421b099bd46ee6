# seed: 77
# actions: [0, 1, 1, 2, 0, 3, 1, 7, 0, 2]
# expect_total: 4.968363138000185 after 10 steps
"""Predator-prey management environment.

The ranger picks one of four interventions each season; the state evolves with a
stochastic Lotka-Volterra system integrated by RK4.
"""
import numpy as np


class EcosystemEnv:
    ACTIONS = ["do nothing", "cull predators", "plant vegetation", "release prey"]

    def __init__(self, dt=0.05, seasons=10):
        self.dt = dt
        self.seasons = seasons
        self.params = dict(alpha=1.0, beta=0.1, gamma=1.2, delta=0.04)

    def seed(self, seed=None):
        self.rng = np.random.RandomState(seed)
        return [seed]

    def reset(self, seed=None):
        self.seed(seed)
        self.state = np.array([self.rng.uniform(20, 40), self.rng.uniform(4, 10)])
        self.capacity = 120.0
        self.t = 0
        self.history = [self.state.copy()]
        return self._get_obs()

    def _deriv(self, s):
        x, y = s
        p = self.params
        dx = p["alpha"] * x * (1 - x / self.capacity) - p["beta"] * x * y
        dy = p["delta"] * x * y - p["gamma"] * y
        return np.array([dx, dy])

    def _rk4(self, s):
        h = self.dt
        k1 = self._deriv(s)
        k2 = self._deriv(s + h / 2 * k1)
        k3 = self._deriv(s + h / 2 * k2)
        k4 = self._deriv(s + h * k3)
        return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def _get_obs(self):
        prey, pred = self.state
        trend = np.zeros(2) if len(self.history) < 2 else self.history[-1] - self.history[-2]
        arrows = ["up" if d > 0.5 else "down" if d < -0.5 else "steady" for d in trend]
        options = "; ".join(f"{i}: {a}" for i, a in enumerate(self.ACTIONS))
        return (
            f"Season {self.t}/{self.seasons}. Rabbits: {prey:.1f} ({arrows[0]}), "
            f"foxes: {pred:.1f} ({arrows[1]}). Options: {options}"
        )

    def step(self, action):
        if action not in range(len(self.ACTIONS)):
            return f"Bad option {action}. " + self._get_obs(), -1.0, False, {"t": self.t}
        cost = 0.0
        if action == 1:
            self.state[1] *= 0.7
            cost = 0.2
        elif action == 2:
            self.capacity = min(200.0, self.capacity + 20)
            cost = 0.3
        elif action == 3:
            self.state[0] += 10
            cost = 0.1
        for _ in range(20):
            self.state = self._rk4(self.state)
        self.state *= np.exp(self.rng.normal(0, 0.05, size=2))
        self.state = np.clip(self.state, 0.0, 500.0)
        self.history.append(self.state.copy())
        self.t += 1
        extinct = bool((self.state < 0.5).any())
        prey, pred = self.state
        balance = np.tanh(pred / 5) * np.tanh(prey / 20)
        reward = float(balance) - cost - (5.0 if extinct else 0.0)
        done = extinct or self.t >= self.seasons
        info = {"t": self.t, "extinct": extinct, "mean": np.mean(self.history, axis=0).round(2).tolist()}
        return self._get_obs(), reward, done, info
