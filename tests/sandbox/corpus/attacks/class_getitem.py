# tries: defines __class_getitem__
# expect: rejected
class Env:
    def __class_getitem__(cls, item):
        return item

    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return "obs", 0.0, False, {}
