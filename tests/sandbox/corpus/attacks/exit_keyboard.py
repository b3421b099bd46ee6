# tries: KeyboardInterrupt to end the worker
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        raise KeyboardInterrupt
        return "obs", 0.0, False, {}
