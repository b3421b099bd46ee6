# tries: an exception whose metaclass answers for it
# expect: contained
from abc import ABCMeta


class Meta(ABCMeta):
    def __instancecheck__(cls, thing):
        return True

    def __subclasscheck__(cls, kind):
        return True

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return 1


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return 'LEAK', 1.0, True, {}
        return "obs", 0.0, False, {}
