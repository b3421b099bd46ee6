# tries: an enumeration whose value runs code when it is copied
# expect: contained
import enum


class Lies(enum.Enum):
    A = 1

    @property
    def _value_(self):
        raise SystemExit("LEAK")


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return Lies.A, 0.0, False, {}
        return "obs", 0.0, False, {}
