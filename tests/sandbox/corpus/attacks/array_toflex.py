# tries: records by an attribute of masked arrays
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        kind = np.ma.array([1]).toflex().dtype.type
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
