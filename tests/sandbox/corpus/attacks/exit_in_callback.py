# tries: an exception in a callback that runs while the answer is copied
# expect: contained (runs)
import weakref


class Thing:
    pass


def late(reference):
    raise SystemExit("LEAK")


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        thing = Thing()
        self.reference = weakref.ref(thing, late)
        return [1, 2], 0.0, False, {"n": 1}
        return "obs", 0.0, False, {}
