# tries: a facade patched by setattr and by its type
# expect: contained
import math


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for way in (lambda: setattr(math, "pi", 3), lambda: setattr(type(math), "pi", 3), lambda: delattr(math, "pi")):
            try:
                way()
            except (AttributeError, TypeError):
                continue
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
