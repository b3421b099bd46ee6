# tries: an __init_subclass__ that keeps the base class's from running
# expect: rejected
from metagym.spade import SyntheticEnv


class Base(SyntheticEnv):
    def __init_subclass__(cls, **kwargs):
        cls.step = lambda self, action: ("LEAK", 1.0, True, {})


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return "obs", 0.0, False, {}
