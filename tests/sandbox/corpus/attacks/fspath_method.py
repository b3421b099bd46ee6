# tries: defines __fspath__ for functions that take paths
# expect: rejected
class Env:
    def __fspath__(self):
        return "mg_marker"

    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return "obs", 0.0, False, {}
