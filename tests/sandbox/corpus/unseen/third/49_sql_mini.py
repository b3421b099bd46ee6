# seed: 6
# actions: ["SELECT * FROM orders ORDER BY amount DESC LIMIT 2", "SELECT buyer, sum(amount) FROM orders GROUP BY buyer", "SELECT name, amount FROM people JOIN orders ON pid = buyer WHERE amount > 50", "DROP TABLE people", "SELECT name, height FROM people", "SELECT name FROM people WHERE pid = 2 AND age >= 18", "ANSWER ann"]
# expect_total: 0.5 after 7 steps
"""Answer questions about two small tables by issuing SELECT queries, then 'ANSWER value'."""
import random
import re
from collections import defaultdict
from typing import Iterator, Optional

Row = dict[str, object]

QUERY = re.compile(
    r"""^\s*select\s+(?P<cols>.+?)\s+from\s+(?P<table>\w+)
        (?:\s+join\s+(?P<join>\w+)\s+on\s+(?P<lk>\w+)\s*=\s*(?P<rk>\w+))?
        (?:\s+where\s+(?P<where>.+?))?
        (?:\s+group\s+by\s+(?P<group>\w+))?
        (?:\s+order\s+by\s+(?P<order>\w+)(?P<desc>\s+desc)?)?
        (?:\s+limit\s+(?P<limit>\d+))?\s*;?\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
COND = re.compile(r"^\s*(\w+)\s*(=|!=|<=|>=|<|>)\s*(?:'([^']*)'|(-?\d+))\s*$")


class QueryError(Exception):
    ...


def compare(a, op, b) -> bool:
    match op:
        case "=":
            return a == b
        case "!=":
            return a != b
        case "<":
            return a < b
        case ">":
            return a > b
        case "<=":
            return a <= b
        case ">=":
            return a >= b
    raise QueryError(op)


class Database:
    def __init__(self, tables: dict[str, list[Row]]):
        self.tables = tables

    def _scan(self, name: str) -> Iterator[Row]:
        if name.lower() not in self.tables:
            raise QueryError(f"no such table: {name}")
        for row in self.tables[name.lower()]:
            yield dict(row)

    def query(self, sql: str) -> list[Row]:
        m = QUERY.match(sql)
        if not m:
            raise QueryError("syntax error")
        rows = list(self._scan(m["table"]))
        if m["join"]:
            right = list(self._scan(m["join"]))
            rows = [{**r, **l} for l in rows for r in right if l.get(m["lk"]) == r.get(m["rk"])]
        if m["where"]:
            for clause in re.split(r"\s+and\s+", m["where"], flags=re.I):
                c = COND.match(clause)
                if c is None:
                    raise QueryError(f"bad condition: {clause}")
                col, op, text, num = c.groups()
                value = text if num is None else int(num)
                try:
                    rows = [r for r in rows if compare(r[col], op, value)]
                except KeyError:
                    raise QueryError(f"no such column: {col}")
                except TypeError:
                    raise QueryError("type mismatch")
        cols = [c.strip() for c in m["cols"].split(",")]
        aggs = [re.fullmatch(r"(count|sum|max|min)\((\w+|\*)\)", c, re.I) for c in cols]
        if any(aggs):
            groups = defaultdict(list)
            for r in rows:
                groups[r.get(m["group"]) if m["group"] else None].append(r)
            rows = [{c: self._agg(a, g) if a else g[0].get(c) for c, a in zip(cols, aggs)} for g in groups.values()]
        if m["order"]:
            rows.sort(key=lambda r: r[m["order"]] if m["order"] in r else 0, reverse=bool(m["desc"]))
        if m["limit"]:
            rows = rows[: int(m["limit"])]
        if cols == ["*"]:
            return rows
        try:
            return [{c: r[c] for c in cols} for r in rows]
        except KeyError as e:
            raise QueryError(f"no such column: {e.args[0]}")

    @staticmethod
    def _agg(a, group):
        fn, col = a[1].lower(), a[2]
        if fn == "count":
            return len(group)
        return {"sum": sum, "max": max, "min": min}[fn](r[col] for r in group)


class Env:
    def reset(self, seed: Optional[int] = None):
        rng = random.Random(seed)
        cities = rng.sample(["Oslo", "Lima", "Cairo", "Perth", "Kyoto"], 3)
        names = rng.sample("Ann Ben Cat Dan Eve Fay Gus Hal".split(), 6)
        people = [{"pid": i, "name": n, "age": rng.randint(20, 60), "city": rng.choice(cities)} for i, n in enumerate(names, 1)]
        orders = [{"oid": 100 + i, "buyer": rng.randint(1, 6), "amount": rng.randint(5, 90)} for i in range(10)]
        self.db = Database({"people": people, "orders": orders})
        target = rng.choice(people)
        q = rng.randrange(3)
        if q == 0:
            self.question = f"How much has {target['name']} spent in total?"
            self.answer = str(sum(o["amount"] for o in orders if o["buyer"] == target["pid"]))
        elif q == 1:
            self.question = f"How many people live in {target['city']}?"
            self.answer = str(sum(p["city"] == target["city"] for p in people))
        else:
            self.question = "Who placed the largest order?"
            top = max(orders, key=lambda o: o["amount"])
            self.answer = next(p["name"] for p in people if p["pid"] == top["buyer"])
        self.n = 0
        return f"{self.question}\npeople(pid, name, age, city), orders(oid, buyer, amount)", {"question": q}

    def step(self, action: str):
        self.n += 1
        if action.upper().startswith("ANSWER"):
            ok = action[6:].strip().lower() == self.answer.lower()
            return ("Correct." if ok else f"Wrong, it was {self.answer}."), 1.0 - 0.05 * (self.n - 1) if ok else -1.0, True, False, {"correct": ok}
        try:
            rows = self.db.query(action)
        except QueryError as e:
            return f"ERROR: {e}", -0.1, False, self.n >= 8, {"error": True}
        if not rows:
            return "(0 rows)", 0.0, False, self.n >= 8, {}
        header = list(rows[0])
        body = [" | ".join(str(r[h]) for h in header) for r in rows]
        return "\n".join([" | ".join(header), *body]), 0.0, False, self.n >= 8, {"rows": len(rows)}
