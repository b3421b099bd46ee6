# tries: the clock by gmtime(None)
# expect: contained
import time


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        time.gmtime(None)
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
