# tries: an enumeration whose value becomes a property after it was made
# expect: contained
import enum


class Lies(enum.Enum):
    A = 1


def value(self):
    raise SystemExit("LEAK")


Lies._value_ = property(value)


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return Lies.A, 0.0, False, {}
        return "obs", 0.0, False, {}
