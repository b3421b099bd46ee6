# tries: a function of the program's among the settings that all sessions share
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        np.set_printoptions(formatter={"all": lambda value: "x"})
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
