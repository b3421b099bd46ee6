# tries: an enumeration with a hook as a member's name
# expect: contained
import enum


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for names in (["__reduce_ex__"], {"__class__": 1}, "__array_interface__", [("__init_subclass__", 1)]):
            try:
                enum.Enum("E", names)
            except (TypeError, ValueError):
                continue
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
