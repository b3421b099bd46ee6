# seed: 15
# actions: [1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1]
# expect_total: -26.9 after 12 steps
try:
    import gymnasium as gym
    from gymnasium import spaces
except ImportError:
    import gym
    from gym import spaces
import numpy as np


class TrafficLightEnv(gym.Env):
    """
    Traffic light control at a four way intersection.

    Observation: [north queue, south queue, east queue, west queue, phase, time in phase]
    Actions: 0 = keep the current phase, 1 = switch the phase
    Reward: negative total queue length, minus a penalty for switching too fast
    """

    metadata = {"render.modes": ["human"]}
    LANES = ["north", "south", "east", "west"]

    def __init__(self, max_steps=12, arrival_rates=(0.6, 0.5, 0.8, 0.3), discharge=2):
        super(TrafficLightEnv, self).__init__()
        self.max_steps = max_steps
        self.arrival_rates = np.array(arrival_rates)
        self.discharge = discharge
        self.action_space = spaces.Discrete(2)
        self.observation_space = spaces.Box(low=0, high=np.inf, shape=(6,), dtype=np.float32)
        self.queues = None
        self.phase = 0
        self.phase_time = 0
        self.current_step = 0

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.queues = self.np_random.integers(0, 6, size=4)
        self.phase = 0
        self.phase_time = 0
        self.current_step = 0
        return self._next_observation(), {}

    def _next_observation(self):
        return np.concatenate([self.queues, [self.phase, self.phase_time]]).astype(np.float32)

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} ({type(action)}) invalid"
        self.current_step += 1
        penalty = 0.0
        if action == 1:
            if self.phase_time < 2:
                penalty = 1.0
            self.phase = 1 - self.phase
            self.phase_time = 0
        else:
            self.phase_time += 1

        arrivals = self.np_random.random(4) < self.arrival_rates
        self.queues = self.queues + arrivals.astype(int)

        green = [0, 1] if self.phase == 0 else [2, 3]
        served = 0
        if action == 0:
            for lane in green:
                out = min(self.discharge, self.queues[lane])
                self.queues[lane] -= out
                served += out

        reward = -float(np.sum(self.queues)) * 0.1 + 0.2 * served - penalty
        terminated = bool(np.max(self.queues) > 15)
        truncated = self.current_step >= self.max_steps
        info = {"served": int(served), "queues": dict(zip(self.LANES, self.queues.tolist()))}
        return self._next_observation(), reward, terminated, truncated, info

    def render(self, mode="human"):
        for lane, q in zip(self.LANES, self.queues):
            print(f"{lane:>6}: {'#' * int(q)}")

    def close(self):
        pass
