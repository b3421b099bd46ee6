# tries: dates by the dtype of a method
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for way in (lambda: np.arange(3).cumsum(dtype="M8[s]"), lambda: np.arange(3).max(initial=np.arange(3).mean(dtype="m8[s]"))):
            found = way()
            if "datetime" in str(found.dtype):
                found[0] = "now"
                return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
