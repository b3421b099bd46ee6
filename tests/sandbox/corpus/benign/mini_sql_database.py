# seed: 1
# actions: ["SELECT name FROM staff WHERE dept = 'ops'", "SELECT name, pay FROM staff WHERE pay > 50 ORDER BY pay DESC LIMIT 2", "SELECT COUNT(*) FROM staff", "DROP TABLE staff", "INSERT INTO staff VALUES ('zoe', 'ops', 91)", "SELECT name FROM nowhere", "SELECT AVG(pay) FROM staff WHERE dept = 'ops'", "ANSWER zoe"]
# expect_total: 0.88 after 8 steps
"""Answer a question by querying a miniature SQL database.

The grammar is parsed with verbose regular expressions.
"""
import random
import re
from collections import ChainMap, Counter, namedtuple
from typing import Any, Dict, Iterable, List, TypedDict

Row = namedtuple("Row", "name dept pay", defaults=[0])


class TableInfo(TypedDict):
    columns: List[str]
    rows: int


SELECT = re.compile(
    r"""
    ^SELECT\s+(?P<cols>.+?)\s+FROM\s+(?P<table>\w+)      # projection
    (?:\s+WHERE\s+(?P<field>\w+)\s*(?P<op>[<>=])\s*(?P<value>'[^']*'|\d+))?
    (?:\s+ORDER\s+BY\s+(?P<order>\w+)(?P<desc>\s+DESC)?)?
    (?:\s+LIMIT\s+(?P<limit>\d+))?;?$
    """,
    re.VERBOSE | re.IGNORECASE,
)
INSERT = re.compile(r"^INSERT INTO (\w+) VALUES \((.*)\)$", re.I)
AGG = re.compile(r"^(COUNT|AVG|MAX|MIN)\((\*|\w+)\)$", re.I)

DEFAULTS = {"order": None, "limit": "10", "desc": ""}

AGGREGATES = {
    "COUNT": len,
    "AVG": lambda xs: round(sum(xs) / len(xs), 2) if xs else None,
    "MAX": lambda xs: max(xs, default=None),
    "MIN": lambda xs: min(xs, default=None),
}


def literal(token: str) -> Any:
    return token[1:-1] if token.startswith("'") else int(token)


def matches(row: Row, field: str, op: str, value: Any) -> bool:
    actual = getattr(row, field)
    return {"=": actual == value, "<": actual < value, ">": actual > value}[op]


class SqlEnv:
    def reset(self, seed=None):
        rng = random.Random(seed)
        names = ["ada", "bob", "cyd", "dan", "eve", "fay"]
        rng.shuffle(names)
        self.tables: Dict[str, List[Row]] = {
            "staff": [Row(n, rng.choice(("ops", "dev")), rng.randrange(40, 90, 5)) for n in names]
        }
        self.usage: Counter = Counter()
        info: TableInfo = {"columns": list(Row._fields), "rows": len(names)}
        return "Who earns most in ops? Reply with ANSWER <name>.", {"schema": info}

    def _select(self, m: re.Match) -> str:
        given = {k: v for k, v in m.groupdict().items() if v is not None}
        q = ChainMap(given, DEFAULTS)
        rows: Iterable[Row] = self.tables[q["table"].lower()]
        if "field" in q:
            value = literal(q["value"])
            rows = [r for r in rows if matches(r, q["field"], q["op"], value)]
        if q["order"]:
            rows = sorted(rows, key=lambda r: getattr(r, q["order"]), reverse=bool(q["desc"]))
        if agg := AGG.match(q["cols"]):
            fn, col = agg.group(1).upper(), agg.group(2)
            return str(AGGREGATES[fn]([r if col == "*" else getattr(r, col) for r in rows]))
        cols = re.split(r"\s*,\s*", q["cols"])
        if cols == ["*"]:
            cols = list(Row._fields)
        out = [" ".join(str(getattr(r, c)) for c in cols) for r in rows]
        return "\n".join(out[: int(q["limit"])]) or "(empty)"

    def step(self, action: str):
        self.usage.update([action.split()[0].upper()])
        if action.startswith("ANSWER"):
            ops = [r for r in self.tables["staff"] if r.dept == "ops"]
            best = max(ops, key=lambda r: (r.pay, r.name))
            good = action.split()[-1] == best.name
            return ("correct" if good else "wrong"), 1.0 * good, True, {"usage": self.usage.most_common()}
        try:
            if m := SELECT.match(action):
                return self._select(m), 0.05, False, {}
            if m := INSERT.match(action):
                row = Row(*(literal(t.strip()) for t in m[2].split(",")))
                self.tables[m[1]].append(row)
                return repr(row), -0.02, False, row._asdict()
        except KeyError as e:
            return f"no such table: {e.args[0]}", -0.1, False, {}
        except AttributeError:
            return "no such column", -0.1, False, {}
        return "syntax error", -0.2, False, {}
