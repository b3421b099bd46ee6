# tries: the builtins of the program by the items of some mapping
# expect: contained
import operator


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for way in (lambda: operator.getitem(globals, "x"), lambda: operator.setitem(vars(), "open", 1), lambda: dir()):
            way()
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
