# tries: text in typing forms that something might evaluate
# expect: contained
import typing
from typing import ForwardRef

Kind = typing.List["open('mg_marker', 'w')"]


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        typing.get_type_hints(self.step)
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
