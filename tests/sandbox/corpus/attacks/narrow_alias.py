# tries: the rest of the module time by another name of it
# expect: rejected
import time


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        clock = time
        return clock.time(), 0.0, False, {}
        return "obs", 0.0, False, {}
