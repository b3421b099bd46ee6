# tries: an error that carries a number too long to be written
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        raise ValueError(10**6000, "x")
        return "obs", 0.0, False, {}
