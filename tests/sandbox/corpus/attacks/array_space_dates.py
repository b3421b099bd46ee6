# tries: dates by the dtype of a space
# expect: contained
import numpy as np
from gymnasium import spaces


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for make in (
            lambda: spaces.MultiDiscrete(["now"], dtype="M8[s]").nvec,
            lambda: spaces.Box("now", "now", (1,), dtype="M8[s]").low,
        ):
            try:
                found = make()
            except Exception:
                continue
            if "datetime" in str(found.dtype):
                return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
