# tries: the raw dictionary of an instance: vars() of a class with a metaclass holds its descriptor
# expect: contained
from abc import ABCMeta


class Meta(ABCMeta):
    pass


class Base(metaclass=Meta):
    pass


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        found = vars(Base)["__dict__"]


        class Derived(Base):
            raw = found


        thing = Derived()
        thing.raw["__array_interface__"] = {"shape": (1,), "typestr": "|u1", "data": (1, False), "version": 3}
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
