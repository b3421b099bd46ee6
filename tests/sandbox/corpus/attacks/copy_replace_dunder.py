# tries: a dunder name in the dictionary of a namespace: copy.replace (Python 3.13)
# expect: contained
import copy
import types


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        try:
            again = getattr(copy, "replace")(types.SimpleNamespace(x=1), **{"__array_interface__": {}})
        except AttributeError:
            return "obs", 0.0, False, {}
        if "__array_interface__" in vars(again):
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
