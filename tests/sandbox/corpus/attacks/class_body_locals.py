# tries: locals() in a class body
# expect: rejected
class Env:
    found = locals()

    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return "obs", 0.0, False, {}
