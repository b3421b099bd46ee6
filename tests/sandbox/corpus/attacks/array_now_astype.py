# tries: the clock by an array of dates made of the text now
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        now = np.array(["now"]).astype("M8[s]").astype("int64")
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
