# tries: classes derived from the library's own metaclasses and forms
# expect: contained
import abc
import enum


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        class Kind(enum.EnumMeta):
            pass


        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
