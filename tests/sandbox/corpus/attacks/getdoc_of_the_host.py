# tries: docstrings of the host by a function that claims a place in a module
# expect: contained (runs; documentation is no secret)
import functools
import inspect
import json


def claims():
    pass


functools.update_wrapper(claims, json.loads)
claims.__qualname__ = "JSONDecoder.decode"


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        inspect.getdoc(claims)
        return "obs", 0.0, False, {}
