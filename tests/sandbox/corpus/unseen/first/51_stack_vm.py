# seed: 38
# actions: ["PUSH 3; PUSH 4; ADD", "IN 0; IN 1; ADD", "IN 0; IN 1; MUL; IN 0; ADD", "POP", "IN 0; DUP; MUL", "FOO", "LABEL a; JMP a", "IN 0; IN 1; SUB; NEG", "trace IN 0; IN 1; SWAP; SUB", "IN 0; IN 1; SUB"]
# expect_total: 1.006666667 after 10 steps
"""Program synthesis on a small stack machine."""
from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Callable, Deque, Dict, Iterator, List, Tuple


class VMError(RuntimeError):
    """Any fault of the machine."""


class StackUnderflow(VMError):
    pass


class OutOfFuel(VMError):
    pass


@dataclass
class Instruction:
    op: str
    arg: str | None = None

    @classmethod
    def parse_program(cls, text: str) -> List["Instruction"]:
        return [cls(*chunk.split(maxsplit=1)) for chunk in map(str.strip, text.split(";")) if chunk]


@dataclass
class Machine:
    inputs: Tuple[int, ...]
    fuel: int = 200
    stack: Deque[int] = field(default_factory=deque)
    pc: int = 0

    def pop(self) -> int:
        if not self.stack:
            raise StackUnderflow(f"stack is empty at pc={self.pc}")
        return self.stack.pop()

    def run(self, program: List[Instruction]) -> Iterator[Tuple[int, List[int]]]:
        labels = {ins.arg: i for i, ins in enumerate(program) if ins.op == "LABEL"}
        binary: Dict[str, Callable[[int, int], int]] = {
            "ADD": lambda a, b: a + b,
            "SUB": lambda a, b: a - b,
            "MUL": lambda a, b: a * b,
            "MAX": max,
            "MIN": min,
        }
        while self.pc < len(program):
            self.fuel -= 1
            if self.fuel < 0:
                raise OutOfFuel("out of fuel")
            ins = program[self.pc]
            match ins:
                case Instruction(op="PUSH", arg=str(n)):
                    self.stack.append(int(n))
                case Instruction(op="IN", arg=str(i)):
                    self.stack.append(self.inputs[int(i)])
                case Instruction(op="DUP"):
                    x = self.pop()
                    self.stack.extend((x, x))
                case Instruction(op="SWAP"):
                    b, a = self.pop(), self.pop()
                    self.stack.extend((b, a))
                case Instruction(op="POP"):
                    self.pop()
                case Instruction(op="NEG"):
                    self.stack.append(-self.pop())
                case Instruction(op=op) if op in binary:
                    b, a = self.pop(), self.pop()
                    self.stack.append(binary[op](a, b))
                case Instruction(op="LABEL"):
                    pass
                case Instruction(op="JMP", arg=target):
                    self.pc = labels[target]
                case Instruction(op="JZ", arg=target):
                    if self.pop() == 0:
                        self.pc = labels[target]
                case _:
                    raise VMError(f"illegal instruction {ins.op}")
            self.pc += 1
            yield self.pc, list(self.stack)


HIDDEN: List[Tuple[str, Callable[[int, int], int]]] = [
    ("x + y", lambda x, y: x + y),
    ("x - y", lambda x, y: x - y),
    ("x * y + x", lambda x, y: x * y + x),
    ("x * x", lambda x, y: x * x),
    ("max(x, y) - min(x, y)", lambda x, y: abs(x - y)),
]


class ProgramSynthesisEnv:
    def reset(self, seed: int = 0):
        self.rng = random.Random(seed)
        self.pending = deque(self.rng.sample(HIDDEN, 3))
        self.steps = 0
        return self._next(), {"ops": "PUSH IN DUP SWAP POP NEG ADD SUB MUL MAX MIN LABEL JMP JZ"}

    def _next(self) -> str:
        self.name, self.fn = self.pending.popleft()
        self.cases = [(x, y, self.fn(x, y)) for x, y in ((self.rng.randint(-9, 9), self.rng.randint(-9, 9)) for _ in range(5))]
        return "Examples: " + "; ".join(f"({x}, {y}) -> {z}" for x, y, z in self.cases[:3])

    def step(self, action: str):
        self.steps += 1
        truncated = self.steps >= 15
        if action.startswith("trace "):
            vm = Machine(self.cases[0][:2])
            lines = []
            try:
                for pc, stack in vm.run(Instruction.parse_program(action.removeprefix("trace "))):
                    lines.append(f"pc={pc} stack={stack}")
            except VMError as e:
                lines.append(f"fault: {e}")
            return "\n".join(lines), 0.0, False, truncated, {}
        try:
            program = Instruction.parse_program(action)
            passed = 0
            for x, y, z in self.cases:
                vm = Machine((x, y))
                for _ in vm.run(program):
                    pass
                passed += bool(vm.stack) and vm.stack[-1] == z
        except (VMError, ValueError, IndexError, KeyError, TypeError) as e:
            return f"{type(e).__name__}: {e}", -0.1, False, truncated, {}
        if passed == len(self.cases):
            reward = 1.0 + 0.5 / len(program)
            if not self.pending:
                return f"Solved {self.name}. All done!", reward, True, truncated, {}
            return f"Solved {self.name}. {self._next()}", reward, False, truncated, {}
        return f"{passed}/{len(self.cases)} cases pass.", 0.02 * passed, False, truncated, {}
