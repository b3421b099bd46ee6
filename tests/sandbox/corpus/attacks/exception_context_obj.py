# tries: the objects that errors of the library keep
# expect: contained
import math


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        try:
            getattr(math, "nothing")
        except AttributeError as error:
            found = getattr(error, "obj")
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
