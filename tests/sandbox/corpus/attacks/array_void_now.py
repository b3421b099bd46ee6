# tries: the clock: a structured scalar that holds a date
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        row = np.zeros(1, dtype="i4,i4").dtype.type(("now",), dtype=[("at", "M8[s]")])
        if str(row["at"]) > "2026":
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
