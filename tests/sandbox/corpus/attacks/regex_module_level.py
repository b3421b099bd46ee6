# tries: a catastrophic pattern in the body of the module
# expect: killed
# kind: resource (killed and contained both pass)
import re

re.search("(x+x+)+y", "x" * 80)


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return "obs", 0.0, False, {}
