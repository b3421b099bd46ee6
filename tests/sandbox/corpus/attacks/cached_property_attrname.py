# tries: a dunder name in an instance's dictionary: cached_property writes under a name of the program's
# expect: contained
import functools

import numpy as np


class Under(functools.cached_property):
    def __set_name__(self, owner, name):
        self.attrname = "__array_interface__"


class Thing:
    @Under
    def first(self):
        return {"shape": (1,), "typestr": "|u1", "data": (id(self), True), "version": 3}


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        thing = Thing()
        thing.first
        if "__array_interface__" in vars(thing) or np.asarray(thing).dtype == np.uint8:
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
