# seed: 50
# actions: ["PUSH 3; PUSH 4; ADD", "LOAD x; LOAD y; ADD; DUP; MUL; OUT", "POP", "LOAD x; DUP; MUL; LOAD y; ADD; OUT", "LOAD z; OUT", "PUSH 1; PUSH 0; DIV; OUT", "JMP 0", "LOAD x; PUSH 2; MUL; LOAD y; ADD; OUT"]
# expect_total: 2.7000000000000006 after 8 steps
from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional


class MachineError(Exception):
    """Raised when a program misbehaves."""


class StackUnderflow(MachineError):
    pass


class StepLimitExceeded(MachineError):
    pass


@dataclass
class Instruction:
    op: str
    arg: Optional[str] = None

    @classmethod
    def parse(cls, text: str) -> "Instruction":
        op, *rest = text.split()
        return cls(op.upper(), rest[0] if rest else None)


@dataclass
class Machine:
    env: Dict[str, int]
    limit: int = 200
    stack: List[int] = field(default_factory=list)
    output: List[int] = field(default_factory=list)

    def pop(self) -> int:
        if not self.stack:
            raise StackUnderflow("stack underflow")
        return self.stack.pop()

    def binary(self, fn: Callable[[int, int], int]) -> None:
        b, a = self.pop(), self.pop()
        self.stack.append(fn(a, b))

    def run(self, program: List[Instruction]) -> List[int]:
        pc = executed = 0
        while pc < len(program):
            executed += 1
            if executed > self.limit:
                raise StepLimitExceeded(f"more than {self.limit} steps")
            ins = program[pc]
            pc += 1
            if ins.op == "PUSH":
                self.stack.append(int(ins.arg))
            elif ins.op == "LOAD":
                try:
                    self.stack.append(self.env[ins.arg])
                except KeyError:
                    raise MachineError(f"undefined variable {ins.arg}") from None
            elif ins.op == "ADD":
                self.binary(lambda a, b: a + b)
            elif ins.op == "SUB":
                self.binary(lambda a, b: a - b)
            elif ins.op == "MUL":
                self.binary(lambda a, b: a * b)
            elif ins.op == "DIV":
                self.binary(lambda a, b: a // b)
            elif ins.op == "DUP":
                top = self.pop()
                self.stack += [top, top]
            elif ins.op == "SWAP":
                b, a = self.pop(), self.pop()
                self.stack.extend((b, a))
            elif ins.op == "POP":
                self.pop()
            elif ins.op == "JMP":
                pc = int(ins.arg)
            elif ins.op == "OUT":
                self.output.append(self.pop())
            else:
                raise MachineError(f"unknown opcode {ins.op}")
        return self.output


TARGETS = [
    ("x*y", lambda x, y: x * y),
    ("x*x + y", lambda x, y: x * x + y),
    ("2*x + y", lambda x, y: 2 * x + y),
    ("(x + y)**2", lambda x, y: (x + y) ** 2),
]


class StackMachineEnv:
    """Write programs for a stack machine so that the output equals the target function."""

    def reset(self, seed: int | None = None):
        self.rng = random.Random(seed)
        self.queue = self.rng.sample(TARGETS, 3)
        self.attempts = 0
        return self._obs("Write a program. Ops: PUSH n, LOAD v, ADD, SUB, MUL, DIV, DUP, SWAP, POP, JMP n, OUT")

    def _obs(self, note: str) -> str:
        return f"{note}\nTarget: {self.queue[0][0]}" if self.queue else f"{note}\nAll targets done."

    def step(self, action: str):
        self.attempts += 1
        _, target = self.queue[0]
        cases = [(self.rng.randint(-9, 9), self.rng.randint(-9, 9)) for _ in range(4)]
        passed = 0
        try:
            program = [Instruction.parse(part) for part in action.split(";") if part.strip()]
            for x, y in cases:
                if Machine({"x": x, "y": y}).run(program) == [target(x, y)]:
                    passed += 1
        except (MachineError, ZeroDivisionError, ValueError) as exc:
            return self._obs(f"{type(exc).__name__}: {exc}"), -0.2, self.attempts >= 10, {"passed": passed}
        if passed == len(cases):
            self.queue.pop(0)
            reward = 1.0 + 1.0 / len(program)
            return self._obs("All tests passed."), reward, not self.queue, {"passed": passed}
        return self._obs(f"{passed}/{len(cases)} tests passed."), 0.1 * passed, self.attempts >= 10, {"passed": passed}
