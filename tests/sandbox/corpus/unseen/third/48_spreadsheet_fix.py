# seed: 8
# actions: ["show", "formulas", "C4 := 13", "A1 := =A1+1", "A1 := -2"]
# expect_total: 1.0 after 5 steps
"""A tiny spreadsheet with formulas: set cells so that the goal cell reaches the target value."""
import ast
import operator as op
import random
import re

CELL = re.compile(r"\b([A-C][1-4])\b")
OPS = {ast.Add: op.add, ast.Sub: op.sub, ast.Mult: op.mul, ast.Div: op.truediv, ast.USub: op.neg}


class FormulaError(ValueError):
    pass


class Sheet:
    def __init__(self):
        self.cells = {f"{c}{r}": "" for r in range(1, 5) for c in "ABC"}

    def set(self, ref, raw):
        if ref not in self.cells:
            raise FormulaError(f"no cell {ref}")
        old, self.cells[ref] = self.cells[ref], raw
        try:
            self.value(ref)
        except FormulaError:
            self.cells[ref] = old
            raise

    def value(self, ref, trail=()):
        if ref in trail:
            raise FormulaError("#CYCLE " + "->".join(trail + (ref,)))
        raw = self.cells[ref]
        if raw == "":
            return 0
        if not raw.startswith("="):
            try:
                return int(raw)
            except ValueError:
                raise FormulaError(f"#VALUE {raw}")
        body = re.sub(r"SUM\(([A-C])(\d):([A-C])(\d)\)", self._expand, raw[1:])
        try:
            tree = ast.parse(body, mode="eval").body
        except SyntaxError:
            raise FormulaError(f"#SYNTAX {raw}")
        return self._eval(tree, trail + (ref,))

    @staticmethod
    def _expand(m):
        c1, r1, c2, r2 = m.groups()
        refs = [f"{chr(c)}{r}" for c in range(ord(c1), ord(c2) + 1) for r in range(int(r1), int(r2) + 1)]
        return "(" + "+".join(refs) + ")"

    def _eval(self, node, trail):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name) and CELL.fullmatch(node.id):
            return self.value(node.id, trail)
        if isinstance(node, ast.BinOp) and type(node.op) in OPS:
            try:
                return OPS[type(node.op)](self._eval(node.left, trail), self._eval(node.right, trail))
            except ZeroDivisionError:
                raise FormulaError("#DIV/0")
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPS:
            return OPS[type(node.op)](self._eval(node.operand, trail))
        raise FormulaError("#NAME")

    def __str__(self):
        out = ["     " + "".join(f"{c:>8}" for c in "ABC")]
        for r in range(1, 5):
            row = []
            for c in "ABC":
                v = self.value(f"{c}{r}")
                row.append(f"{v:>8g}")
            out.append(f"{r:>4} " + "".join(row))
        return "\n".join(out)


class Env:
    LIMIT = 10

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.sheet = Sheet()
        for ref in ("A1", "A2", "A3", "B1", "B2"):
            self.sheet.set(ref, str(rng.randint(1, 9)))
        self.sheet.set("B3", rng.choice(["=A1*B1", "=A1+B1", "=A2-B2"]))
        self.sheet.set("C4", rng.choice(["=SUM(A1:A3)+B3", "=B3*2-A3", "=SUM(B1:B3)"]))
        self.target = self.sheet.value("C4") + rng.choice([-6, -4, 4, 6, 8])
        self.locked = {"C4", "B3"}
        self.steps = 0
        self.best = abs(self.sheet.value("C4") - self.target)
        return f"Make C4 equal {self.target:g} without editing {', '.join(sorted(self.locked))}.\nCommands: show | formulas | CELL := VALUE\n{self.sheet}", {"gap": self.best}

    def step(self, action):
        self.steps += 1
        reward = 0.0
        if action == "show":
            text = str(self.sheet)
        elif action == "formulas":
            text = ", ".join(f"{k}: {v}" for k, v in self.sheet.cells.items() if v.startswith("="))
        elif m := re.fullmatch(r"\s*([A-Z]\d)\s*:=\s*(.*?)\s*", action):
            ref, raw = m.groups()
            if ref in self.locked:
                text, reward = f"{ref} is locked", -0.2
            else:
                try:
                    self.sheet.set(ref, raw)
                    text = str(self.sheet)
                except FormulaError as e:
                    text, reward = f"{e}", -0.1
        else:
            text, reward = "Bad command", -0.1
        gap = abs(self.sheet.value("C4") - self.target)
        if gap < self.best:
            reward += 0.05 * (self.best - gap)
            self.best = gap
        done = gap == 0
        return text, reward + (1.0 if done else 0.0), done, self.steps >= self.LIMIT, {"gap": gap}
