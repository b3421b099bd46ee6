# tries: the same through a variable called super
# expect: contained
import fractions


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        def begin(super):
            super().__init__(fractions.Fraction.numerator, lambda self: 5)


        begin(lambda: property)
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
