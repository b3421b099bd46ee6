# tries: a state of the generator that is no state
# expect: contained
import random


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        version, inner, gauss = random.getstate()
        for bad in (inner[:-1] + (-1,), inner[:-1] + (10**9,), inner[:-1] + (2**70,), inner[:5], "x" * 625, None):
            try:
                random.setstate((version, bad, gauss))
                random.random()
            except (ValueError, TypeError, OverflowError):
                continue
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
