# tries: a pattern reads the memory of an array: a structural data class with the field data
# expect: contained
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass
class Node(Protocol):
    data: object


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        match np.arange(3) * 1.5:
            case Node(memory):
                memory.cast("B")[0] = 1
                return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
