# seed: 16
# actions: ["select id, dept, salary where age >= 40 limit 5", "select name", "select * where dept = 'sales' and age > 42", "select avg(age) where dept = sales", "SELECT count(salary) WHERE dept = 'sales' AND age > 42", "answer 6"]
# expect_total: 0.8200000000000001 after 6 steps
"""Query task: answer a question about a small table using a mini query language."""
import operator
import random
import re
from collections import defaultdict
from functools import partial
from statistics import mean

OPS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}
AGGREGATES = {"count": len, "sum": sum, "avg": lambda xs: round(mean(xs), 2) if xs else 0, "max": partial(max, default=0), "min": partial(min, default=0)}


class QueryError(Exception):
    ...


class Table:
    def __init__(self, columns, rows):
        self.columns = columns
        self.rows = [dict(zip(columns, r)) for r in rows]

    def where(self, *predicates):
        t = Table(self.columns, [])
        t.rows = [r for r in self.rows if all(p(r) for p in predicates)]
        return t

    def column(self, name):
        if name not in self.columns:
            raise QueryError(f"no column {name}")
        return [r[name] for r in self.rows]

    def group_by(self, key):
        groups = defaultdict(list)
        for r in self.rows:
            groups[r[key]].append(r)
        return groups

    def __len__(self):
        return len(self.rows)


class QueryEngine:
    SELECT = re.compile(r"select\s+(?P<what>[\w*(), ]+?)(?:\s+where\s+(?P<where>.+?))?(?:\s+limit\s+(?P<limit>\d+))?\s*$", re.I)
    COND = re.compile(r"(\w+)\s*(<=|>=|!=|=|<|>)\s*'?([\w.]+)'?$")

    def __init__(self, table):
        self.table = table

    def _predicate(self, text):
        m = self.COND.match(text.strip())
        if not m:
            raise QueryError(f"cannot read condition {text!r}")
        col, op, raw = m.groups()
        if col not in self.table.columns:
            raise QueryError(f"no column {col}")
        value = float(raw) if re.fullmatch(r"\d+(\.\d+)?", raw) else raw.lower()
        fn = OPS[op]

        def predicate(row):
            try:
                return fn(row[col], value)
            except TypeError:
                raise QueryError(f"cannot compare {col} with {raw}") from None

        return predicate

    def run(self, query):
        m = self.SELECT.match(query.strip())
        if not m:
            raise QueryError("expected: select WHAT [where COND and COND] [limit N]")
        preds = [self._predicate(c) for c in re.split(r"\s+and\s+", m["where"], flags=re.I)] if m["where"] else []
        rows = self.table.where(*preds)
        if agg := re.fullmatch(r"(\w+)\((\w+|\*)\)", m["what"].strip()):
            name, col = agg.groups()
            if name not in AGGREGATES:
                raise QueryError(f"no aggregate {name}")
            return [(AGGREGATES[name](rows.rows if col == "*" else rows.column(col)),)]
        cols = self.table.columns if m["what"].strip() == "*" else [c.strip() for c in m["what"].split(",")]
        data = list(zip(*(rows.column(c) for c in cols)))
        return data[: int(m["limit"])] if m["limit"] else data


class Env:
    COLUMNS = ("id", "dept", "age", "salary")

    def reset(self, seed=None):
        rng = random.Random(seed)
        rows = [(i, rng.choice(["sales", "legal", "tech"]), rng.randint(20, 64), rng.randrange(1000, 6000, 50)) for i in range(1, 31)]
        self.table = Table(self.COLUMNS, rows)
        self.engine = QueryEngine(self.table)
        dept, limit = rng.choice(["sales", "legal", "tech"]), rng.randint(25, 45)
        kind = rng.choice(["count", "sum", "max"])
        chosen = self.table.where(lambda r: r["dept"] == dept, lambda r: r["age"] > limit)
        self.answer = AGGREGATES[kind](chosen.column("salary"))
        words = {"count": "How many people", "sum": "What is the total salary of the people", "max": "What is the highest salary of the people"}
        self.queries = 0
        question = f"{words[kind]} in {dept} who are older than {limit}?"
        sizes = {k: len(v) for k, v in sorted(self.table.group_by("dept").items())}
        return f"Table people{self.COLUMNS} with 30 rows. {question}\nUse 'select ...' queries, then 'answer N'.", {"sizes": sizes}

    def step(self, action):
        self.queries += 1
        if action.lower().startswith("answer"):
            try:
                given = float(action.split()[1])
            except (IndexError, ValueError):
                return "Give a number: answer N", -0.1, False, self.queries >= 8, {}
            correct = abs(given - self.answer) < 1e-6
            return ("Correct." if correct else "Wrong."), (1.0 if correct else -0.5), True, False, {"correct": correct}
        try:
            result = self.engine.run(action)
        except QueryError as e:
            return f"error: {e}", -0.1, False, self.queries >= 8, {"error": True}
        body = "\n".join(" | ".join(f"{v}" for v in row) for row in result[:10])
        more = f"\n... {len(result) - 10} more rows" if len(result) > 10 else ""
        return (body or "(no rows)") + more, -0.02, False, self.queries >= 8, {"rows": len(result)}
