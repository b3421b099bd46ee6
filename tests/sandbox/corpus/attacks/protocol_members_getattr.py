# tries: a structural type that asks for hooks
# expect: contained (runs; hasattr tells no more than yes or no)
from typing import Protocol


class Asks(Protocol):
    x: int

    def __call__(self): ...


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        isinstance(self.step, Asks)
        return "obs", 0.0, False, {}
