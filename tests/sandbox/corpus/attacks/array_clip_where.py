# tries: memory that was not cleared, by clip with a mask
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        junk = [bytes(range(256)) * 4 for _ in range(300)]
        del junk
        for size in range(8, 1500, 70):
            if np.clip(np.zeros(size), 0, 1, where=False).any() or np.zeros(size).clip(0, 1, where=False).any():
                return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
