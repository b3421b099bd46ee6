# tries: a method of the base class replaced for everybody
# expect: contained
from metagym.spade import SyntheticEnv


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        SyntheticEnv.reset = lambda self, seed=0: ("LEAK", {})
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
