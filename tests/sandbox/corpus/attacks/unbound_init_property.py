# tries: a property of the library begun anew with a function of the program's
# expect: contained
import fractions


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        property.__init__(fractions.Fraction.numerator, lambda self: 5)
        return "LEAK", fractions.Fraction(1, 2), False, {}
        return "obs", 0.0, False, {}
