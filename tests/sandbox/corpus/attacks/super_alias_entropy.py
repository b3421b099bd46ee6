# tries: the machine's entropy behind random.Random: super under another name
# expect: contained
import random

up = super


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        generator = random.Random(1)
        up(random.Random, generator).seed(None)
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
