# tries: numbers packed into the memory of an array of objects
# expect: contained
import struct

import numpy as np


class Thing:
    def __rmul__(self, other):
        return self


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        things = np.arange(2) * Thing()
        for way in (
            lambda: struct.pack_into("q", things, 0, 1),
            lambda: struct.Struct("q").pack_into(things, 0, 1),
            lambda: np.copyto(things.view("i8"), 1),
            lambda: np.frombuffer(things, "i8"),
        ):
            try:
                way()
            except (TypeError, ValueError, AttributeError):
                continue
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
