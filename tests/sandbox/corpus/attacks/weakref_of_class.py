# tries: the references that the library keeps to a class
# expect: contained (runs; they lead back to what the program has)
import weakref
from collections.abc import Sized


class Mine:
    def __len__(self):
        return 1


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        isinstance(Mine(), Sized)
        for reference in weakref.getweakrefs(Mine):
            if reference() is not Mine:
                return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
