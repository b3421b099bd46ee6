# tries: the clock by strftime without a moment
# expect: contained
import time


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        if time.strftime("%Y") or time.gmtime():
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
