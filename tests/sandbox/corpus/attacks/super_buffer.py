# tries: the memory behind io.BytesIO and array.array past their facades
# expect: contained
import array


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        address, length = super(array.array, array.array("d", [1.0])).buffer_info()
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
