# tries: the real classes behind facades: mro() by super() in a metaclass
# expect: contained
import datetime
from abc import ABCMeta


class Meta(ABCMeta):
    def lineage(cls):
        return super().mro()


class Day(datetime.datetime, metaclass=Meta):
    pass


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for kind in Day.lineage():
            if kind is not Day and kind is not datetime.datetime and "now" in dir(kind):
                return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
