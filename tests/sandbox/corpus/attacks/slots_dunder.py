# tries: slots with the names of hooks
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        class Thing:
            __slots__ = ("__array_" + "interface__", "x")


        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
