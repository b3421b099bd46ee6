# tries: a class with a hook by calling a metaclass
# expect: contained
from abc import ABCMeta


class Meta(ABCMeta):
    pass


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for name in ("__getattr__", "__array_interface__", "__del__", "__class__"):
            try:
                Meta("T", (), {name: lambda *args: 1})
            except TypeError:
                continue
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
