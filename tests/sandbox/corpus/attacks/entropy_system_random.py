# tries: the machine's entropy by SystemRandom
# expect: rejected
from random import SystemRandom


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return SystemRandom().random(), 0.0, False, {}
        return "obs", 0.0, False, {}
