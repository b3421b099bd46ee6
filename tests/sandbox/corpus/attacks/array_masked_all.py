# tries: memory that was not cleared, under a mask
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        junk = [bytes(range(256)) * 4 for _ in range(300)]
        del junk
        if any(np.ma.masked_all(size).data.any() for size in range(8, 1500, 70)):
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
