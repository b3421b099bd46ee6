# tries: a table of the library that all sessions share, changed in place
# expect: contained
import textwrap

start = textwrap.TextWrapper(width=40).fill("abc")


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        textwrap.TextWrapper.unicode_whitespace_trans[ord("a")] = ord("L")
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
