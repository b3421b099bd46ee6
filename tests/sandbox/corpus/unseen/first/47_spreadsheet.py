# seed: 55
# actions: ["show", "set D1 =SUM(A1:A4)", "set D2 =AVG(B1:B4)", "set D3 =D1*2+B2", "set D4 =D4+1", "get D3", "set D1 =A1/0", "undo", "set Z9 5", "answer D1 1", "set D2 =MAX(B1:B4)-MIN(B1:B4)", "submit"]
# expect_total: 2.82 after 12 steps
"""A tiny spreadsheet with formulas; fill column D as requested."""
import math
import random
import re
import statistics
from typing import Dict, List, Union

CELL = re.compile(r"^[A-D][1-4]$")
RANGE = re.compile(r"([A-D])([1-4]):([A-D])([1-4])")
Value = Union[int, float, str]


class CircularReference(Exception):
    pass


class Sheet:
    FUNCTIONS = {
        "SUM": lambda xs: sum(xs),
        "AVG": lambda xs: statistics.fmean(xs),
        "MAX": lambda xs: max(xs),
        "MIN": lambda xs: min(xs),
        "MEDIAN": lambda xs: statistics.median(xs),
        "SQRT": lambda x: math.sqrt(x),
    }

    def __init__(self):
        self.cells: Dict[str, Value] = {}

    def value(self, name: str, seen=frozenset()) -> float:
        if name in seen:
            raise CircularReference(name)
        raw = self.cells.get(name, 0)
        if not isinstance(raw, str) or not raw.startswith("="):
            return raw
        seen = seen | {name}

        def expand(m):
            c1, r1, c2, r2 = m.groups()
            names = [f"{chr(c)}{r}" for c in range(ord(c1), ord(c2) + 1) for r in range(int(r1), int(r2) + 1)]
            return "[" + ",".join(repr(self.value(n, seen)) for n in names) + "]"

        expr = RANGE.sub(expand, raw[1:])
        expr = re.sub(r"\b([A-D][1-4])\b", lambda m: repr(self.value(m.group(1), seen)), expr)
        if not re.fullmatch(r"[A-Z0-9+\-*/().,\[\] e]*", expr):
            raise SyntaxError("illegal characters in formula")
        return eval(expr, {"__builtins__": {}}, dict(self.FUNCTIONS))

    def display(self, name: str) -> str:
        try:
            v = self.value(name)
        except ZeroDivisionError:
            return "#DIV/0!"
        except CircularReference:
            return "#REF!"
        except Exception:
            return "#ERR!"
        return f"{v:.2f}".rstrip("0").rstrip(".") if isinstance(v, float) else str(v)


class SpreadsheetEnv:
    TASKS = [("D1", "the sum of column A", lambda a, b: sum(a)), ("D2", "the range (max - min) of column B", lambda a, b: max(b) - min(b)),
             ("D3", "twice D1 plus B2", lambda a, b: 2 * sum(a) + b[1])]

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.sheet = Sheet()
        for col in "ABC":
            for row in range(1, 5):
                self.sheet.cells[f"{col}{row}"] = rng.randint(1, 50)
        self.undo: List[dict] = []
        self.t = 0
        return "Set " + "; ".join(f"{c} to {d}" for c, d, _ in self.TASKS) + ".\n" + self.grid()

    def grid(self) -> str:
        lines = ["    " + "".join(f"{c:>9}" for c in "ABCD")]
        for r in range(1, 5):
            lines.append(f"{r:>4}" + "".join(f"{self.sheet.display(c + str(r)):>9}" for c in "ABCD"))
        return "\n".join(lines)

    def score(self) -> int:
        col = lambda c: [self.sheet.cells[f"{c}{r}"] for r in range(1, 5)]
        n = 0
        for cell, _, fn in self.TASKS:
            try:
                n += math.isclose(self.sheet.value(cell), fn(col("A"), col("B")))
            except Exception:
                pass
        return n

    def step(self, action: str):
        self.t += 1
        done = self.t >= 25
        verb, _, rest = action.partition(" ")
        if verb == "show":
            return self.grid(), 0.0, done, {}
        if verb == "get" and CELL.match(rest):
            return f"{rest} = {self.sheet.display(rest)}", 0.0, done, {}
        if verb == "undo" and self.undo:
            self.sheet.cells = self.undo.pop()
            return "Undone.\n" + self.grid(), -0.02, done, {}
        if verb == "submit":
            n = self.score()
            return f"{n} of {len(self.TASKS)} correct.", float(n), True, {"correct": n}
        if verb == "set":
            name, _, content = rest.partition(" ")
            if CELL.match(name) and content:
                before = self.score()
                self.undo.append(dict(self.sheet.cells))
                try:
                    self.sheet.cells[name] = float(content)
                except ValueError:
                    self.sheet.cells[name] = content
                return self.grid(), 0.1 * (self.score() - before) - 0.01, done, {}
        return "Invalid command.", -0.1, done, {}
