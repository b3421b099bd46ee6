# tries: hooks among the attributes of a node: its constructor takes a mapping
# expect: contained
import ast

import numpy as np


class Keys(dict):
    pass


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        hook = {"shape": (1,), "typestr": "|u1", "data": (1, False), "version": 3}
        for make in (
            lambda: ast.Constant(**Keys({"__array_interface__": hook})),
            lambda: ast.Name(**{"id": "x", "__array_interface__": hook}),
            lambda: ast.Constant(1, **Keys(_fields=("__class__",))),
        ):
            try:
                node = make()
            except TypeError:
                continue
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
