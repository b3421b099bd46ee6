# seed: 2
# actions: ["move A B", "move C table", "move Z A", "move B C", "undo", "move A table", "move B C", "move A B"]
# expect_total: 1.48333333 after 8 steps
"""Blocks world written in a functional style: pure transitions over immutable states."""
import random
from functools import partial, reduce
from itertools import chain, permutations
from types import MappingProxyType
from typing import Callable, FrozenSet, Mapping, NamedTuple, Tuple, Union

On = Mapping[str, str]


class Ok(NamedTuple):
    state: "State"
    note: str = "ok"


class Err(NamedTuple):
    reason: str


Result = Union[Ok, Err]


class State(NamedTuple):
    on: On
    moves: int = 0

    @property
    def clear(self) -> FrozenSet[str]:
        return frozenset(self.on) - frozenset(self.on.values())


def compose(*fns: Callable) -> Callable:
    return reduce(lambda f, g: lambda x: g(f(x)), fns, lambda x: x)


def freeze(d: dict) -> On:
    return MappingProxyType(dict(d))


def check(predicate, reason: str, result: Result) -> Result:
    if isinstance(result, Err):
        return result
    return result if predicate(result.state) else Err(reason)


def move(block: str, dest: str) -> Callable[[Result], Result]:
    def apply(result: Result) -> Result:
        if isinstance(result, Err):
            return result
        s = result.state
        return Ok(s._replace(on=freeze({**s.on, block: dest}), moves=s.moves + 1), f"{block} -> {dest}")

    return compose(
        partial(check, lambda s: block in s.on, f"no block {block}"),
        partial(check, lambda s: block in s.clear, f"{block} is covered"),
        partial(check, lambda s: dest == "table" or dest in s.clear, f"{dest} is covered"),
        partial(check, lambda s: block != dest and s.on[block] != dest, "nothing to do"),
        apply,
    )


def stacks(s: State) -> Tuple[Tuple[str, ...], ...]:
    above = {v: k for k, v in s.on.items() if v != "table"}
    climb = lambda b: (b,) + (climb(above[b]) if b in above else ())
    return tuple(climb(b) for b in sorted(s.on) if s.on[b] == "table")


show = compose(stacks, lambda st: " | ".join(map("<".join, st)))


def distance(goal: On, s: State) -> int:
    return sum(1 for b, below in goal.items() if s.on[b] != below)


class BlocksEnv:
    def __init__(self):
        self._history: Tuple[State, ...] = ()

    @property
    def now(self):
        return self._history[-1]

    def reset(self, seed=None):
        rng = random.Random(seed)
        order = rng.choice(list(permutations("ABC")))
        start = State(freeze(dict(zip(order, chain(["table", "table"], order[:1])))))
        self._goal = freeze({"A": "B", "B": "C", "C": "table"})
        self._history = (start,)
        return show(start), {"goal": dict(self._goal)}

    def step(self, action):
        match action.split():
            case ["undo"] if len(self._history) > 1:
                self._history = self._history[:-1]
                return show(self.now), -0.1, False, {"note": "undone"}
            case ["move", b, d]:
                result = move(b, d)(Ok(self.now))
            case _:
                result = Err("parse error")
        if isinstance(result, Err):
            return result.reason, -0.2, False, {}
        gap = partial(distance, self._goal)
        reward = (gap(self.now) - gap(result.state)) / len(self._goal)
        self._history += (result.state,)
        done = gap(self.now) == 0
        return show(self.now), reward + done * (1 - 0.05 * self.now.moves), done, {"note": result.note}
