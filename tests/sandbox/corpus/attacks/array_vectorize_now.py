# tries: the clock: dates by the output types of vectorize
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        moment = np.vectorize(lambda n: "now", otypes=["M8[s]"])(np.arange(2))
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
