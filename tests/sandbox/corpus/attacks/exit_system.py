# tries: SystemExit to end the worker
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        raise SystemExit(0)
        return "obs", 0.0, False, {}
