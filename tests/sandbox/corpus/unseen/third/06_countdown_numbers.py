# seed: 7
# actions: ["what", "1 + 2", "undo", "6 + 1", "7 * 2", "14 * 3", "42 - 7"]
# expect_total: 1.455 after 7 steps
"""Countdown numbers game: combine numbers with + - * / to reach a target."""
import random
import re
from fractions import Fraction
from operator import add, mul, sub, truediv

OPS = {"+": add, "-": sub, "*": mul, "/": truediv}
ACTION_RE = re.compile(r"^\s*(?P<a>\d+)\s*(?P<op>[-+*/])\s*(?P<b>\d+)\s*$")


class Env:
    def __init__(self, n_numbers: int = 5, max_steps: int = 12):
        self.n_numbers = n_numbers
        self.max_steps = max_steps

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.original = sorted(self.rng.sample([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 25, 50], self.n_numbers))
        self.target, self._solution = self._make_target()
        self.numbers = list(self.original)
        self.undo_stack = []
        self.t = 0
        self.best = min(abs(n - self.target) for n in self.numbers)
        return self._observation(), {"target": self.target}

    def _make_target(self):
        while True:
            pool, trace = list(self.original), []
            for _ in range(self.n_numbers - 1):
                a, b = self.rng.sample(pool, 2)
                a, b = max(a, b), min(a, b)
                candidates = [op for op in OPS if self._legal(a, op, b)]
                op = self.rng.choice(candidates)
                pool.remove(a)
                pool.remove(b)
                pool.append(int(Fraction(OPS[op](Fraction(a), Fraction(b)))))
                trace.append(f"{a} {op} {b}")
            if 20 <= pool[0] <= 999:
                return pool[0], trace

    @staticmethod
    def _legal(a, op, b):
        if op == "-":
            return a > b
        if op == "/":
            return b > 1 and a % b == 0
        if op == "*":
            return b > 1
        return True

    def _observation(self, msg=""):
        text = (
            f"Target: {self.target}\n"
            f"Numbers: {' '.join(map(str, self.numbers))}\n"
            f"Closest so far: off by {self.best}\n"
            "Write an operation such as '25 * 4', or 'undo'."
        )
        return f"{msg}\n{text}" if msg else text

    def step(self, action):
        self.t += 1
        reward = 0.0
        msg = ""
        terminated = False
        if action.strip().lower() == "undo":
            if self.undo_stack:
                self.numbers = self.undo_stack.pop()
                msg = "Undone."
                reward = -0.02
            else:
                msg, reward = "Nothing to undo.", -0.05
        elif (m := ACTION_RE.match(action)) is None:
            msg, reward = "I could not read that operation.", -0.1
        else:
            a, op, b = int(m["a"]), m["op"], int(m["b"])
            rest = self.numbers.copy()
            try:
                rest.remove(a)
                rest.remove(b)
            except ValueError:
                msg, reward = f"{a} and {b} are not both available.", -0.1
            else:
                if op in "-/" and not self._legal(a, op, b):
                    msg, reward = "The result must be a positive whole number.", -0.1
                else:
                    value = int(OPS[op](a, b))
                    self.undo_stack.append(self.numbers)
                    self.numbers = sorted(rest + [value])
                    msg = f"{a} {op} {b} = {value}"
                    off = abs(value - self.target)
                    if off < self.best:
                        reward += 0.3 * (self.best - off) / self.best
                        self.best = off
                    if off == 0:
                        reward += 1.0
                        terminated = True
                        msg += " -- exactly the target!"
        truncated = not terminated and self.t >= self.max_steps
        info = {"best": self.best, "steps": self.t}
        if truncated:
            info["solution"] = self._solution
        return self._observation(msg), round(reward, 4), terminated, truncated, info
