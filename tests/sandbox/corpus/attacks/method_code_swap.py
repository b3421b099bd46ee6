# tries: the code of a function replaced by another's
# expect: rejected
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        self.step.__func__.__code__ = self.reset.__func__.__code__
        return "obs", 0.0, False, {}
