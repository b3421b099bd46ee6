# tries: the clock: dates in a pair of results
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        dates, step = np.linspace(0, 1, 2, retstep=True, dtype="M8[s]")
        dates[0] = "now"
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
