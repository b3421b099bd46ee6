# tries: iterators nested until the C stack is used up
# expect: contained
# kind: resource (killed and contained both pass)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        x = iter([])
        for _ in range(200_000):
            x = filter(None, x)
        next(x, None)
        return "obs", 0.0, False, {}
