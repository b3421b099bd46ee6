# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
import numpy as np
import gymnasium as gym
from gymnasium import spaces
class GridEnv(gym.Env):
    metadata = {"render_modes": ["ansi"]}
    def __init__(self):
        super().__init__()
        self.observation_space = spaces.Box(0, 1, shape=(4, 4), dtype=np.float32)
        self.action_space = spaces.Discrete(4)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.grid = self.np_random.random((4, 4)).astype(np.float32)
        return self.grid.copy(), {}
    def step(self, action):
        g = np.clip(self.grid, 0.2, 0.8); v = self.grid.view(); m = self.grid.clip(0, 0.5)
        i, j = np.unravel_index(np.argmax(self.grid), self.grid.shape)
        p = np.pad(self.grid, 1, mode="constant", constant_values=0)
        e = np.pad([1, 2], (2, 2), "edge"); vec = np.vectorize(lambda x: x * 2)(np.arange(3))
        u, c = np.unique(np.array([1, 1, 2]), return_counts=True)
        ok = self.observation_space.contains(self.grid)
        shown = f"{p.shape} {e.tolist()} {vec.tolist()} {u.tolist()} {c.tolist()} {ok} {g.dtype} {int(i) >= 0} {v.shape} {float(m.max()) <= 0.5} {np.dtype('float32').itemsize} {np.result_type(np.int32, np.float64)} {np.linspace(0, 1, 3).tolist()} {np.ma.masked_all(2).mask.tolist()}"
        expected = '(6, 6) [1, 1, 1, 2, 2, 2] [0, 2, 4] [1, 2] [2, 1] True float32 True (4, 4) True 4 float64 [0.0, 0.5, 1.0] [True, True]'
        return shown, float(shown == expected), True, False, {}
