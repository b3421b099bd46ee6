# tries: a separator and texts whose methods lie
# expect: contained (runs; what is kept of the output is capped)
class Sep(str):
    def join(self, parts):
        return "LEAK" * 100_000

    def replace(self, *_):
        raise SystemExit


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        print(Sep("a"), Sep("b"), sep=Sep("c"), end=Sep("d"))
        return "obs", 0.0, False, {}
