# tries: a set whose items say that they are smaller and never end
# expect: contained
class Item(str):
    def __lt__(self, other):
        while True:
            pass

    __gt__ = __le__ = __lt__


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return {Item("b"), Item("a")}, 0.0, False, {}
        return "obs", 0.0, False, {}
