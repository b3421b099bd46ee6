# tries: the constructor of arrays by an attribute of masked arrays
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        raw = np.ma.array([1]).baseclass((1000,), "i8")
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
