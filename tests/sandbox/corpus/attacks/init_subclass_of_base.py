# tries: the hook of the shared base class called again and again
# expect: contained
from metagym.spade import SyntheticEnv


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        SyntheticEnv.__init_subclass__()
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
