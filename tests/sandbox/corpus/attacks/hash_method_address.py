# tries: an address by the method __hash__ of an object without one of its own
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        if object().__hash__() != object().__hash__() and self.__hash__() > 2**30:
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
