# tries: a pattern of thousands of groups and huge repeats
# expect: contained
# kind: resource (killed and contained both pass)
import re


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        re.compile("(" * 90 + "a" + ")" * 90 + "(?:a{60000}){60000}" * 20)
        re.match("(a?){30}" * 40 + "b", "a" * 1200)
        return "obs", 0.0, False, {}
