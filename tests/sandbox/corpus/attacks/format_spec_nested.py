# tries: an attribute path inside a format specification
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        if "builtins" in "{0:{1.step.__globals__}}".format("x", self):
            return "LEAK", 1.0, True, {}
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
