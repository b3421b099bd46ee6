# tries: the dictionary behind a read-only view of a shared pattern's groups
# expect: contained (runs; the pattern must still match in the next session)
import re


class Takes:
    def __ror__(self, other):
        other["evil"] = "x" * 10
        return other

    def __eq__(self, other):
        other["worse"] = -10_000_000
        return True


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        pattern = re.compile("(?P<first>a)(?P<second>b)?")
        pattern.groupindex | Takes()
        pattern.groupindex == Takes()
        found = pattern.match("ab")
        for name in ("first", "evil", "worse"):
            try:
                found.group(name), found.groupdict(), found.span(name)
            except (IndexError, TypeError):
                continue
        return "obs", 0.0, False, {}
