# tries: print into an object of the library that is no file
# expect: contained
import random


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        print("x", file=random)
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
