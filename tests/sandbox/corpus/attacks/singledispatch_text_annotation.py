# tries: text in a literal type, by a name that means another form
# expect: contained
import functools
from typing import List as Literal


@functools.singledispatch
def show(x):
    return "plain"


def other(x: Literal["__import__('os').system('echo x > mg_marker')"]):
    return "LEAK"


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        show.register(other)
        return show([]), 0.0, False, {}
        return "obs", 0.0, False, {}
