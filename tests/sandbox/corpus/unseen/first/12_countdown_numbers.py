# seed: 17
# actions: ["25 + 7", "(100 - 4) * 2", "numbers", "7 *", "import os", "50 * 7 + 3", "give up"]
# expect_total: -0.5 after 6 steps
import ast
import operator
import random

OPS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class CountdownEnv:
    """The numbers round of the Countdown TV show.

    Given six numbers and a target, give an arithmetic expression that uses each
    number at most once and gets as close as possible to the target.
    """

    LARGE = [25, 50, 75, 100]
    SMALL = list(range(1, 11)) * 2

    def __init__(self, max_attempts=5):
        self.max_attempts = max_attempts

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        n_large = self.rng.randint(1, 3)
        self.numbers = self.rng.sample(self.LARGE, n_large) + self.rng.sample(self.SMALL, 6 - n_large)
        self.target = self.rng.randint(101, 999)
        self.attempts = 0
        self.best = None
        return self._render()

    def _render(self):
        return f"Numbers: {self.numbers}  Target: {self.target}  Attempts left: {self.max_attempts - self.attempts}"

    def _evaluate(self, node, used):
        if isinstance(node, ast.Expression):
            return self._evaluate(node.body, used)
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            used.append(node.value)
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPS:
            left = self._evaluate(node.left, used)
            right = self._evaluate(node.right, used)
            return OPS[type(node.op)](left, right)
        raise ValueError(f"unsupported syntax: {type(node).__name__}")

    def step(self, action):
        action = action.strip()
        if action == "numbers":
            return self._render(), 0.0, False, {}
        if action == "give up":
            return f"The best you had was {self.best}.", -0.5 if self.best is None else 0.0, True, {}
        self.attempts += 1
        done = self.attempts >= self.max_attempts
        used = []
        try:
            value = self._evaluate(ast.parse(action, mode="eval"), used)
        except SyntaxError as e:
            return f"Syntax error: {e.msg}", -0.1, done, {}
        except (ValueError, ZeroDivisionError) as e:
            return f"Error: {e}", -0.1, done, {}
        pool = list(self.numbers)
        for u in used:
            if u not in pool:
                return f"Number {u} is not available.", -0.1, done, {}
            pool.remove(u)
        diff = abs(value - self.target)
        old = self.best
        if old is None or diff < abs(old - self.target):
            self.best = value
            gain = 0.1
        else:
            gain = 0.0
        if diff == 0:
            return f"{action} = {value}. Exact!", 1.0, True, {"diff": 0}
        return f"{action} = {value:g}, off by {diff:g}. " + self._render(), gain, done, {"diff": diff}
