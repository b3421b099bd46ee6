# tries: super again by the type of a super object
# expect: contained
import random


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        generator = random.Random(1)
        type(super())(random.Random, generator).seed(None)
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
