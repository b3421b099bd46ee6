# tries: the pointers in an array of objects that an operator made
# expect: contained
import numpy as np


class Thing:
    def __rmul__(self, other):
        return self


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        memory = (np.arange(2) * Thing()).data
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
