# tries: the clock: the type of dates by numpy.result_type
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        moment = np.result_type("M8[s]").type("now")
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
