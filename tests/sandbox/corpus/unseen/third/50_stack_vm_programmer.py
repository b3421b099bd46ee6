# seed: 3
# actions: ["push 2", "mul", "run", "undo", "undo", "dup", "mul", "run"]
# expect_total: 0.8 after 8 steps
"""Stack machine: write a program, instruction by instruction, that maps inputs to a target value."""
import operator
import random
from dataclasses import dataclass
from typing import Callable, ClassVar, Iterable


@dataclass
class Instruction:
    registry: ClassVar[dict[str, type["Instruction"]]] = {}
    arg: int | None = None

    def __init_subclass__(cls, opcode: str = "", **kwargs):
        super().__init_subclass__(**kwargs)
        if opcode:
            cls.opcode = opcode
            Instruction.registry[opcode] = cls

    def execute(self, stack: list[int]) -> None:
        raise NotImplementedError

    @classmethod
    def parse(cls, text: str) -> "Instruction":
        op, *args = text.strip().lower().split()
        try:
            klass = cls.registry[op]
        except KeyError:
            raise SyntaxError(f"unknown opcode {op}") from None
        return klass(int(args[0])) if args else klass()

    def __str__(self):
        return self.opcode if self.arg is None else f"{self.opcode} {self.arg}"


class Push(Instruction, opcode="push"):
    def execute(self, stack):
        if self.arg is None or not 0 <= self.arg <= 9:
            raise ValueError("push needs a digit")
        stack.append(self.arg)


class Dup(Instruction, opcode="dup"):
    def execute(self, stack):
        stack.append(stack[-1])


class Swap(Instruction, opcode="swap"):
    def execute(self, stack):
        stack[-1], stack[-2] = stack[-2], stack[-1]


class Pop(Instruction, opcode="pop"):
    def execute(self, stack):
        stack.pop()


class BinaryOp(Instruction):
    func: ClassVar[Callable[[int, int], int]]

    def execute(self, stack):
        b, a = stack.pop(), stack.pop()
        stack.append(type(self).func(a, b))


class Add(BinaryOp, opcode="add"):
    func = staticmethod(operator.add)


class Sub(BinaryOp, opcode="sub"):
    func = staticmethod(operator.sub)


class Mul(BinaryOp, opcode="mul"):
    func = staticmethod(operator.mul)


class Machine:
    def __init__(self, initial: Iterable[int]):
        self.stack = list(initial)

    def run(self, program: list[Instruction]) -> int:
        for ins in program:
            ins.execute(self.stack)
        return self.stack[-1]


class Env:
    FORMULAS = {
        "2*x + 1": lambda x: 2 * x + 1,
        "x*x": lambda x: x * x,
        "x*x - x": lambda x: x * x - x,
        "3*(x+2)": lambda x: 3 * (x + 2),
        "9 - x": lambda x: 9 - x,
    }

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.name = self.rng.choice(list(self.FORMULAS))
        self.f = self.FORMULAS[self.name]
        self.cases = sorted(self.rng.sample(range(-5, 10), 4))
        self.program: list[Instruction] = []
        self.edits = 0
        ops = ", ".join(sorted(Instruction.registry))
        return (
            f"Compute {self.name}. The stack starts as [x]. Opcodes: {ops}.\n"
            "Each action appends one instruction; 'undo' removes the last; 'run' tests the program."
        ), {"formula": self.name}

    def _listing(self):
        return "; ".join(map(str, self.program)) or "(empty)"

    def step(self, action):
        self.edits += 1
        truncated = self.edits >= 20
        if action == "undo":
            if self.program:
                self.program.pop()
            return self._listing(), -0.05, False, truncated, {}
        if action == "run":
            rows, passed = [], 0
            for x in self.cases:
                try:
                    got = Machine([x]).run(self.program)
                except (IndexError, ValueError) as e:
                    got = type(e).__name__
                ok = got == self.f(x)
                passed += ok
                rows.append(f"f({x}) = {got} {'ok' if ok else f'expected {self.f(x)}'}")
            solved = passed == len(self.cases)
            reward = 1.0 if solved else 0.1 * passed - 0.2
            return "\n".join(rows), reward, solved, truncated, {"passed": passed}
        try:
            self.program.append(Instruction.parse(action))
        except (SyntaxError, ValueError) as e:
            return f"error: {e}", -0.1, False, truncated, {}
        return self._listing(), 0.0, False, truncated, {"length": len(self.program)}
