# tries: a dunder name in the specification of a nested f-string
# expect: rejected
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        text = f"{1:{f'{self.step.__globals__}'}}"
        return "obs", 0.0, False, {}
