# tries: an enumeration that writes itself into a module
# expect: contained
import enum


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        enum.Enum("E", "A", module="builtins", qualname="open")
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
