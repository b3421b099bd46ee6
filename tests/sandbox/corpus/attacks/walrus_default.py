# tries: a walrus in a default binds a guard's name around a class body
# expect: contained
import random


def wrapped(x=(_write_ := lambda thing: thing)):
    return x


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        random.seed = wrapped()
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
