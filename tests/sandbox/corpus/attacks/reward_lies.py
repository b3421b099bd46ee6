# tries: a reward whose number is another each time
# expect: contained (runs; the built-in part is what is copied)
class Reward(float):
    def __float__(self):
        return float("inf")

    def __sub__(self, other):
        return 0.0

    def __eq__(self, other):
        return True

    __ne__ = __lt__ = __gt__ = __eq__
    __hash__ = None


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return "obs", Reward(0.5), False, {}
        return "obs", 0.0, False, {}
