# seed: 14
# actions: ["show", "set D1 =SUM(A1:C1)", "set D2 =SUM(A2:C2)", "set D3 =AVG(A3:C3)", "set D3 =SUM(A3:C3", "set D3 =SUM(A3:C3)", "set E1 =D1+D2*2", "set Z9 hello", "set E2 =E2+1", "set D4 =MAX(D1:D3)", "check"]
# expect_total: 0.64 after 11 steps
"""A tiny spreadsheet environment with formulas, evaluated through the ast module."""
import ast
import operator
import random
import re

OPS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}
FUNCS = {"SUM": sum, "MAX": max, "MIN": min, "AVG": lambda xs: sum(xs) / len(xs)}
CELL = re.compile(r"\b([A-F])([1-5])\b")
RANGE = re.compile(r"([A-F][1-5]):([A-F][1-5])")


class FormulaError(ValueError):
    pass


class SpreadsheetEnv:
    def __init__(self):
        self.cells = {}

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.cells = {f"{c}{r}": str(rng.randint(1, 50)) for c in "ABC" for r in range(1, 4)}
        self.steps = 0
        self.targets = {f"D{r}": sum(int(self.cells[f"{c}{r}"]) for c in "ABC") for r in range(1, 4)}
        self.targets["D4"] = max(self.targets.values())
        return "Fill D1..D3 with the row sums and D4 with the largest of them.\n" + self.table()

    def expand(self, match):
        (c1, r1), (c2, r2) = match.group(1), match.group(2)
        names = [f"{chr(c)}{r}" for c in range(ord(c1), ord(c2) + 1) for r in range(int(r1), int(r2) + 1)]
        return "[" + ",".join(names) + "]"

    def value(self, name, stack=()):
        if name in stack:
            raise FormulaError("#CYCLE")
        raw = self.cells.get(name, "0")
        if not raw.startswith("="):
            try:
                return float(raw)
            except ValueError:
                return 0.0
        text = RANGE.sub(self.expand, raw[1:])
        try:
            tree = ast.parse(text, mode="eval")
        except SyntaxError:
            raise FormulaError("#SYNTAX") from None
        return self.evaluate(tree.body, stack + (name,))

    def evaluate(self, node, stack):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPS:
            return OPS[type(node.op)](self.evaluate(node.left, stack), self.evaluate(node.right, stack))
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPS:
            return OPS[type(node.op)](self.evaluate(node.operand, stack))
        if isinstance(node, ast.Name) and CELL.fullmatch(node.id):
            return self.value(node.id, stack)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCS:
            arg = node.args[0]
            items = arg.elts if isinstance(arg, ast.List) else node.args
            return FUNCS[node.func.id]([self.evaluate(x, stack) for x in items])
        raise FormulaError("#EXPR")

    def table(self):
        rows = ["    " + "".join(f"{c:>9}" for c in "ABCDEF")]
        for r in range(1, 6):
            row = f"{r:<4}"
            for c in "ABCDEF":
                name = f"{c}{r}"
                try:
                    text = f"{self.value(name):g}" if name in self.cells else ""
                except (FormulaError, ZeroDivisionError) as e:
                    text = str(e)[:8]
                row += f"{text:>9}"
            rows.append(row)
        return "\n".join(rows)

    def step(self, action):
        self.steps += 1
        parts = action.split(maxsplit=2)
        if parts[:1] == ["show"]:
            return self.table(), 0.0, False, {}
        if parts[:1] == ["check"]:
            good = 0
            for name, want in self.targets.items():
                try:
                    good += abs(self.value(name) - want) < 1e-9
                except FormulaError:
                    pass
            return f"{good}/{len(self.targets)} correct", good / len(self.targets), True, {}
        if len(parts) == 3 and parts[0] == "set" and CELL.fullmatch(parts[1]):
            self.cells[parts[1]] = parts[2]
            try:
                self.value(parts[1])
            except FormulaError as e:
                return f"{parts[1]}: {e}", -0.1, False, {}
            return self.table(), -0.01, False, {}
        return "usage: set A1 =B1+C1 | show | check", -0.1, self.steps >= 30, {}
