# tries: an observation nested past the limit
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        x = "LEAK"
        for _ in range(2_000):
            x = [x]
        return x, 0.0, False, {}
        return "obs", 0.0, False, {}
