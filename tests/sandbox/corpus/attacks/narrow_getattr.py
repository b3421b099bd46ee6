# tries: the rest of the module sys by getattr
# expect: rejected
import sys as system


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return str(getattr(system, "modules")), 0.0, False, {}
        return "obs", 0.0, False, {}
