# tries: an object whose class says that it is equal to every class
# expect: contained
from abc import ABCMeta


class Meta(ABCMeta):
    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return hash("x")


class Thing(metaclass=Meta):
    def __len__(self):
        return 2

    def __iter__(self):
        raise SystemExit("LEAK")

    def __str__(self):
        raise SystemExit("LEAK")

    __repr__ = __str__
    __hash__ = __index__ = __float__ = __len__


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return Thing(), 0.0, False, {}
        return "obs", 0.0, False, {}
