# seed: 3
# actions: [[1.0], [-1.0], [2.0], [0.5], [0.0], [-3.0], [1.5], [-0.25], [0.75], [2.0], [-2.0], [0.1]]
# expect_total: -101.579125836 after 12 steps
import math

import gymnasium as gym
import numpy as np
from gymnasium import spaces


def angle_normalize(x):
    return ((x + np.pi) % (2 * np.pi)) - np.pi


class CartPendulumEnv(gym.Env):
    """Swing-up of a pendulum with a torque limited motor."""

    metadata = {"render_modes": ["ansi"], "render_fps": 30}

    def __init__(self, render_mode=None, g=9.81):
        self.max_speed = 8
        self.max_torque = 2.0
        self.dt = 0.05
        self.g = g
        self.m = 1.0
        self.l = 1.0
        self.render_mode = render_mode
        high = np.array([1.0, 1.0, self.max_speed], dtype=np.float32)
        self.action_space = spaces.Box(low=-self.max_torque, high=self.max_torque, shape=(1,), dtype=np.float32)
        self.observation_space = spaces.Box(low=-high, high=high, dtype=np.float32)
        self.state = None
        self.last_u = None

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        high = np.array([np.pi, 1.0])
        self.state = self.np_random.uniform(low=-high, high=high)
        self.last_u = None
        self.steps = 0
        return self._get_obs(), {}

    def step(self, u):
        th, thdot = self.state
        u = np.clip(u, -self.max_torque, self.max_torque)[0]
        self.last_u = u
        costs = angle_normalize(th) ** 2 + 0.1 * thdot**2 + 0.001 * (u**2)
        newthdot = thdot + (3 * self.g / (2 * self.l) * np.sin(th) + 3.0 / (self.m * self.l**2) * u) * self.dt
        newthdot = np.clip(newthdot, -self.max_speed, self.max_speed)
        newth = th + newthdot * self.dt
        self.state = np.array([newth, newthdot])
        self.steps += 1
        upright = abs(angle_normalize(newth)) < 0.05 and abs(newthdot) < 0.1
        return self._get_obs(), -float(costs), bool(upright), self.steps >= 200, {}

    def _get_obs(self):
        theta, thetadot = self.state
        return np.array([np.cos(theta), np.sin(theta), thetadot], dtype=np.float32)

    def render(self):
        if self.render_mode is None:
            gym.logger.warn("You are calling render method without specifying any render mode.")
            return
        deg = math.degrees(angle_normalize(self.state[0]))
        return f"angle={deg:.1f} deg, torque={self.last_u}"
