# tries: memory that was not cleared, by numpy.pad
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        junk = [bytes(range(256)) * 4 for _ in range(300)]
        del junk
        if any(np.pad(np.zeros(2), size, mode="empty").any() for size in range(8, 1500, 70)):
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
