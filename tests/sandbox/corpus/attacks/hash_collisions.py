# tries: a dictionary of numbers that all fall into one place
# expect: killed
# kind: resource (killed and contained both pass)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        x = {n * (2**61 - 1): n for n in range(200_000)}
        return "obs", 0.0, False, {}
