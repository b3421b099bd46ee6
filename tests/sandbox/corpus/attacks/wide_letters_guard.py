# tries: a guard's name in wide letters
# expect: contained
import random

＿write＿ = lambda thing: thing


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        random.random = lambda: 0.5
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
