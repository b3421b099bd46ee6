# tries: a dunder name in wide letters, which the compiler of the generated text makes narrow
# expect: contained
import dataclasses


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        wide = "\uff3f\uff3farray_interface\uff3f\uff3f"
        kind = dataclasses.make_dataclass("Thing", [wide])
        thing = kind({"shape": (1,), "typestr": "|u1", "data": (1, False), "version": 3})
        if "__array_interface__" in vars(thing):
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
