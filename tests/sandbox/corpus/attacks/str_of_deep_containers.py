# tries: texts of containers nested past every stack
# expect: contained
# kind: resource (killed and contained both pass)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        x = ()
        for _ in range(200_000):
            x = (x,)
        for way in (repr, hash, lambda y: y == (y,), str):
            try:
                way(x)
            except RecursionError:
                continue
        return "obs", 0.0, False, {}
