# tries: a pattern reads the unguarded str.format: a structural type with a field of that name
# expect: contained
from dataclasses import dataclass
from typing import Protocol


@dataclass
class Formats(Protocol):
    format: object


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        match "{0.step.__globals__}":
            case Formats(way):
                if "__builtins__" in way(self):
                    return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
