# tries: a descriptor class that answers for type() and isinstance()
# expect: contained
import random


class Lies:
    def __get__(self, instance, owner):
        return random.Random

    def __set__(self, instance, value):
        pass


class Claims:
    kind = Lies()
    __doc__ = "x"


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        thing = Claims()
        thing.kind.random = lambda self: 0.5
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
