# seed: 55
# actions: ["push 5", "push 7", "mul", {"op": "push", "arg": 2}, ["sub"], "dup", "swap", "jump 3", "pop", "store x", "load x", "load y", "run push 1; push 2; add; add", "halt"]
# expect_total: 0.595 after 14 steps
"""Stack machine: reach the target on top of the stack. Class patterns and operator tables."""
import operator as op
import random
from dataclasses import dataclass
from typing import Any, Union


@dataclass(frozen=True)
class Push:
    value: int


@dataclass(frozen=True)
class Binary:
    symbol: str


@dataclass(frozen=True)
class Memory:
    kind: str
    name: str = "acc"


@dataclass(frozen=True)
class Simple:
    name: str


Instr = Union[Push, Binary, Memory, Simple]
BINARY = {"add": op.add, "sub": op.sub, "mul": op.mul, "div": op.floordiv, "mod": op.mod, "max": max}


class VMError(Exception):
    code = "E_GENERIC"


class Underflow(VMError):
    code = "E_UNDERFLOW"


class Unbound(VMError, KeyError):
    code = "E_UNBOUND"


class Illegal(VMError):
    code = "E_ILLEGAL"

    def __str__(self):
        return f"{self.code}: {self.args[0]!r}"


def decode(raw: Any) -> Instr:
    match raw:
        case str() as text:
            return decode(text.split())
        case {"op": name, "arg": arg}:
            return decode([name, str(arg)])
        case {"op": name, **rest} if not rest:
            return decode([name])
        case ["push", n]:
            return Push(int(n))
        case [("store" | "load") as kind, name]:
            return Memory(kind, name)
        case [name] if name in BINARY:
            return Binary(name)
        case ["dup" | "swap" | "pop" | "halt" as name]:
            return Simple(name)
        case [first, *_, last] if len(raw) > 2:
            raise Illegal(f"{first}..{last}")
        case _:
            raise Illegal(raw[0] if raw else "")


class Machine:
    def __init__(self):
        self.stack: list[int] = []
        self.memory: dict[str, int] = {}
        self.cycles = 0
        self.halted = False

    def need(self, n):
        if len(self.stack) < n:
            raise Underflow(f"need {n}, have {len(self.stack)}")

    def execute(self, instr: Instr):
        self.cycles += 1
        match instr:
            case Push(value=v):
                self.stack.append(v)
            case Binary(symbol):
                self.need(2)
                *rest, a, b = self.stack
                self.stack = [*rest, BINARY[symbol](a, b)]
            case Memory("store", name):
                self.need(1)
                self.memory[name] = self.stack.pop()
            case Memory("load", name):
                try:
                    self.stack.append(self.memory[name])
                except KeyError as e:
                    raise Unbound(name) from e
            case Simple("dup"):
                self.need(1)
                self.stack += self.stack[-1:]
            case Simple("swap"):
                self.need(2)
                self.stack[-1], self.stack[-2] = self.stack[-2], self.stack[-1]
            case Simple("pop"):
                self.need(1)
                del self.stack[-1]
            case Simple("halt"):
                self.halted = True


class Env:
    def reset(self, seed=None):
        self.vm = Machine()
        self.target = random.Random(seed).randint(30, 45)
        return {"target": self.target, "ops": [*BINARY]}

    def gap(self):
        return abs(self.target - self.vm.stack[-1]) if self.vm.stack else self.target

    def step(self, action):
        before = self.gap()
        program = action[4:].split(";") if isinstance(action, str) and action.startswith("run ") else [action]
        error = None
        for raw in program:
            try:
                self.vm.execute(decode(raw))
            except VMError as e:
                error = f"{type(e).__name__}({e.code})"
                break
        reward = -0.2 if error else (before - self.gap()) / self.target
        if self.vm.halted:
            reward = 1 / (1 + self.gap()) - 0.005 * self.vm.cycles
        return {"stack": self.vm.stack[:], "mem": dict(self.vm.memory), "error": error}, reward, self.vm.halted, {}
