# tries: the dictionary behind a read-only view of a shared pattern's groups
# expect: contained
import re
import string


class Takes:
    def __ror__(self, other):
        other.clear()
        return other

    def __eq__(self, other):
        other["worse"] = -10_000_000
        return True


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for pattern in (re.compile("(?P<first>a)(?P<second>b)?"), string.Template.pattern):
            pattern.groupindex | Takes()
            pattern.groupindex == Takes()
            if set(pattern.groupindex) & {"first", "named"} == set():
                return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
