# tries: a power with the largest precision of decimal
# expect: killed
# kind: resource (killed and contained both pass)
import decimal


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        decimal.getcontext().prec = 50_000_000
        decimal.Decimal(3) ** decimal.Decimal("0.5")
        return "obs", 0.0, False, {}
