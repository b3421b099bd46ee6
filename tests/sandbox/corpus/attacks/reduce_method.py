# tries: defines __reduce__ for copy
# expect: rejected
class Env:
    def __reduce__(self):
        return print, ("LEAK",)

    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return "obs", 0.0, False, {}
