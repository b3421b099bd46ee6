# tries: the clock: a field of dates in a structured array
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        rows = np.zeros(1, dtype=[("at", "M8[s]")])
        rows["at"][0] = "now"
        if str(rows["at"][0]) > "2026":
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
