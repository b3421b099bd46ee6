# tries: numbers that are not finite, deep inside
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return {"a": [1.0, (2.0, float("nan"))]}, 0.0, False, {}
        return "obs", 0.0, False, {}
