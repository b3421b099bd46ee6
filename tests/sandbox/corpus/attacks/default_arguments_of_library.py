# tries: the objects in the defaults of the library's functions
# expect: contained
import inspect
import json
import textwrap
import random


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for function in (json.loads, textwrap.wrap, random.Random.shuffle, json.JSONEncoder, inspect.signature):
            for each in inspect.signature(function).parameters.values():
                if type(each.default).__name__ in ("module", "function", "builtin_function_or_method"):
                    return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
