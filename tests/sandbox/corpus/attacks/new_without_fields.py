# tries: a number of the library without its fields as an observation
# expect: contained
import fractions


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return object.__new__(fractions.Fraction), 0.0, False, {}
        return "obs", 0.0, False, {}
