# tries: an alias of a type as a base class brings its own bases
# expect: contained
import random
from typing import Type


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        class Thing(type[random.Random]):
            pass


        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
