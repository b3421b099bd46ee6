# tries: a number of millions of digits as text
# expect: contained
# kind: resource (killed and contained both pass)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        text = "%d" % (1 << 40_000_000)
        return "obs", 0.0, False, {}
