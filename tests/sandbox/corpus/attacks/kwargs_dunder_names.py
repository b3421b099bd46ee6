# tries: dunder names as keywords by a mapping
# expect: contained
import types
from dataclasses import replace


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        class Space(types.SimpleNamespace):
            pass


        for make in (
            lambda: types.SimpleNamespace(**{"__array_interface__": {}}),
            lambda: Space(**{"__array_interface__": {}}),
            lambda: vars(self).update({"__array_interface__": {}}),
            lambda: self.__dict__.update(__array_interface__={}) if False else setattr(self, "__array_" + "interface__", {}),
        ):
            try:
                made = make()
            except (TypeError, AttributeError):
                continue
            if "__array_interface__" in vars(made if made is not None else self):
                return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
