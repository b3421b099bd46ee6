# tries: the function behind a guarded str.format by the parts of a partial
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        way = "{0.step.__globals__}".format
        inner = way.func
        if "__builtins__" in inner("{0.step.__globals__}", self):
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
