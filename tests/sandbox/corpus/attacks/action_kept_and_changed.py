# tries: an observation that is the host's own action, changed afterwards
# expect: contained (runs; what crosses is copied)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        kept = [action]
        return kept, 0.0, False, {"same": action}
        return "obs", 0.0, False, {}
