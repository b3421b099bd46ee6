# seed: 24
# actions: ["add", "push 5", "undo", "push x", "run", "arg 0", "arg 1", "over", "over", "mul", "add", "add", "RUN"]
# expect_total: 0.8400000000000001 after 13 steps
# Train low-level programming: write a stack program, one instruction per action, that maps inputs to outputs.
import random
from collections import namedtuple, ChainMap
from typing import List

Case = namedtuple("Case", "inputs expected")


class MachineError(RuntimeError):
    pass


class StackMachine:
    """push N, arg I, add, sub, mul, dup, swap, drop, over"""

    def __init__(self, args, max_depth=16):
        self.args = args
        self.stack: List[int] = []
        self.max_depth = max_depth
        binary = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
        shuffles = {"dup": self._dup, "swap": self._swap, "drop": self._drop, "over": self._over}
        self.table = ChainMap({k: self._binary(f) for k, f in binary.items()}, shuffles)

    def _binary(self, f):
        def run():
            b, a = self._pop(), self._pop()
            self._push(f(a, b))
        return run

    def _pop(self):
        if not self.stack:
            raise MachineError("stack underflow")
        return self.stack.pop()

    def _push(self, v):
        if len(self.stack) >= self.max_depth:
            raise MachineError("stack overflow")
        self.stack.append(v)

    def _dup(self):
        v = self._pop()
        self._push(v)
        self._push(v)

    def _swap(self):
        b, a = self._pop(), self._pop()
        self._push(b)
        self._push(a)

    def _drop(self):
        self._pop()

    def _over(self):
        b, a = self._pop(), self._pop()
        for v in (a, b, a):
            self._push(v)

    def execute(self, instruction):
        op, *operands = instruction.split()
        if op == "push":
            self._push(int(operands[0]))
        elif op == "arg":
            self._push(self.args[int(operands[0])])
        elif op in self.table:
            self.table[op]()
        else:
            raise MachineError(f"unknown instruction {op}")


TARGETS = {
    "x*x + y": lambda x, y: x * x + y,
    "(x + y) * (x - y)": lambda x, y: (x + y) * (x - y),
    "2*x - 3*y": lambda x, y: 2 * x - 3 * y,
    "x*y + x + y": lambda x, y: x * y + x + y,
}


class Env:
    LIMIT = 16

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.formula = rng.choice(list(TARGETS))
        fn = TARGETS[self.formula]
        self.cases = [Case((x, y), fn(x, y)) for x, y in ((rng.randint(-9, 9), rng.randint(-9, 9)) for _ in range(3))]
        self.program = []
        self.used = 0
        return self._status(), {"formula": self.formula}

    def _status(self, err=None):
        lines = [f"Write a program that leaves {self.formula} on the stack (x is arg 0, y is arg 1).",
                 f"Instructions: {StackMachine.__doc__}; also 'undo' and 'run'."]
        lines.extend(f"{i:02d}  {ins}" for i, ins in enumerate(self.program))
        machine = self._execute(self.cases[0].inputs)
        lines.append(f"With x={self.cases[0].inputs[0]}, y={self.cases[0].inputs[1]} the stack is {machine.stack}")
        if err:
            lines.append(f"! {err}")
        return "\n".join(lines)

    def _execute(self, inputs, extra=None):
        m = StackMachine(inputs)
        for ins in self.program + ([extra] if extra else []):
            m.execute(ins)
        return m

    def step(self, action):
        self.used += 1
        action = " ".join(action.lower().split())
        truncated = self.used >= self.LIMIT
        if action == "run":
            passed = [self._execute(c.inputs).stack == [c.expected] for c in self.cases]
            if all(passed):
                return self._status("all cases pass"), 1.0 + 0.02 * (self.LIMIT - self.used), True, False, {"passed": len(passed)}
            return self._status(f"{sum(passed)}/{len(passed)} cases pass"), -0.1, False, truncated, {"passed": sum(passed)}
        if action == "undo":
            if self.program:
                self.program.pop()
            return self._status(), -0.02, False, truncated, {"length": len(self.program)}
        try:
            self._execute(self.cases[0].inputs, action)
        except (MachineError, ValueError, IndexError) as e:
            return self._status(f"{type(e).__name__}: {e}"), -0.05, False, truncated, {"length": len(self.program)}
        self.program.append(action)
        return self._status(), 0.0, False, truncated, {"length": len(self.program)}
