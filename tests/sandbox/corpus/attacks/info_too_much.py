# tries: an info of as many texts as would fill many messages
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return "obs", 0.0, False, {str(n): "\u20ac" * 60 for n in range(4_000)}
        return "obs", 0.0, False, {}
