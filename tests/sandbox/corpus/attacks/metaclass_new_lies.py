# tries: a metaclass whose __new__ hands on a body that changes
# expect: contained
from abc import ABCMeta


class Body(dict):
    def items(self):
        return [("x", 1)]

    def keys(self):
        return ["x"]

    def __iter__(self):
        return iter(["x"])


class Meta(ABCMeta):
    def __new__(mcs, name, bases, body):
        return super().__new__(mcs, name, bases, Body(body, __getattr_=1) | {"__getattr" + "__": lambda self, key: 1})


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        class Thing(metaclass=Meta):
            pass


        if Thing().anything == 1:
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
