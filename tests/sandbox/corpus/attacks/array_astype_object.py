# tries: a writable view of the pointers in an array of objects
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        memory = np.array([1, 2]).astype(object).data.cast("B")
        memory[0] = 0
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
