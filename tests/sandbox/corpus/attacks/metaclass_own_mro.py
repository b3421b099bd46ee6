# tries: a metaclass chooses the order of the bases itself
# expect: contained
import datetime
from abc import ABCMeta


class Meta(ABCMeta):
    def mro(cls):
        found = super().mro()
        return [found[0], *found[2:]]


class Day(datetime.datetime, metaclass=Meta):
    pass


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        if Day.now().microsecond:
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
