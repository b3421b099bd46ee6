# tries: millions of small objects
# expect: contained
# kind: resource (killed and contained both pass)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        x = []
        while True:
            x.append({len(x): [len(x)]})
        return "obs", 0.0, False, {}
