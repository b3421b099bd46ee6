# tries: a state with hooks that copy puts into a new instance
# expect: contained
import copy


class Thing:
    def __copy__(self):
        return copy.copy(Other())


class Other:
    __slots__ = ("x", "__dict__")


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        thing = copy.copy(Thing())
        copy.deepcopy(thing, {id(thing): self.step})
        setattr(thing, "__reduce_" + "ex__", lambda protocol: (print, ("LEAK",)))
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
