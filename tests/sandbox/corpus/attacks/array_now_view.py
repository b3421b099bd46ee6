# tries: the clock: numbers viewed as dates, then set to the text now
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        dates = np.zeros(1, "int64").view("M8[s]")
        dates[0] = "now"
        if int(dates.view("int64")[0]) > 1_000_000_000:
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
