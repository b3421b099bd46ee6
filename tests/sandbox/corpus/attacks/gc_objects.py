# tries: every object of the process by the garbage collector
# expect: rejected
import gc


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        found = gc.get_objects()
        return "obs", 0.0, False, {}
