# tries: a star import that would bring more than a facade offers
# expect: contained
from enum import *


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        found = bltns.open
        return "obs", 0.0, False, {}
