# seed: 8
# actions: ["tables", "SELECT COUNT(*) FROM employees", "SELECT nme FROM employees", "SELECT d.name, AVG(e.salary) FROM employees e JOIN departments d ON d.id = e.dept_id GROUP BY d.name ORDER BY 2 DESC", "ANSWER Sales", "DELETE FROM employees", "ANSWER Research", "ANSWER 3"]
# expect_total: 0.16 after 7 steps
"""Data retrieval: answer questions over a small in-memory SQL database."""
import random
import sqlite3
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

FIRST = ["Ana", "Bo", "Cleo", "Dev", "Eli", "Fay", "Gus", "Hana", "Ivo", "Jun"]
DEPARTMENTS = ["Sales", "Research", "Support", "Legal"]


class Question(NamedTuple):
    text: str
    sql: str


QUESTIONS = [
    Question("Which department has the highest average salary?",
             "SELECT d.name FROM employees e JOIN departments d ON d.id=e.dept_id GROUP BY d.name ORDER BY AVG(e.salary) DESC, d.name LIMIT 1"),
    Question("How many employees were hired after 2015?",
             "SELECT COUNT(*) FROM employees WHERE hired > 2015"),
    Question("What is the name of the employee with the lowest salary?",
             "SELECT name FROM employees ORDER BY salary, name LIMIT 1"),
]


class SQLRetrievalEnv:
    """Send a SELECT statement, or 'ANSWER <value>'."""

    def __init__(self, max_steps: int = 12):
        self.max_steps = max_steps
        self.conn: Optional[sqlite3.Connection] = None

    def reset(self, seed: Optional[int] = None) -> Tuple[str, dict]:
        rng = random.Random(seed)
        if self.conn is not None:
            self.conn.close()
        self.conn = sqlite3.connect(":memory:")
        cur = self.conn.cursor()
        cur.execute("CREATE TABLE departments (id INTEGER PRIMARY KEY, name TEXT)")
        cur.execute("CREATE TABLE employees (id INTEGER PRIMARY KEY, name TEXT, dept_id INTEGER, salary INTEGER, hired INTEGER)")
        cur.executemany("INSERT INTO departments VALUES (?, ?)", list(enumerate(DEPARTMENTS, start=1)))
        rows = [
            (i, f"{rng.choice(FIRST)} {chr(65 + i)}.", rng.randint(1, len(DEPARTMENTS)), rng.randrange(30000, 90000, 500), rng.randint(2005, 2023))
            for i in range(1, 21)
        ]
        cur.executemany("INSERT INTO employees VALUES (?, ?, ?, ?, ?)", rows)
        self.conn.commit()
        self.pending = rng.sample(QUESTIONS, k=2)
        self.t = 0
        return self._question(), {"tables": ["departments", "employees"]}

    def _question(self) -> str:
        return f"Question: {self.pending[0].text}" if self.pending else "All questions answered."

    def _run(self, sql: str) -> List[Tuple[Any, ...]]:
        assert self.conn is not None
        return self.conn.execute(sql).fetchmany(20)

    def step(self, action: str):
        self.t += 1
        truncated = self.t >= self.max_steps
        action = action.strip().rstrip(";")
        if action.lower() == "tables":
            schema = self._run("SELECT sql FROM sqlite_master WHERE type='table'")
            return "\n".join(r[0] for r in schema), 0.0, False, truncated, {}
        if action.upper().startswith("ANSWER"):
            given = action[6:].strip()
            truth = str(self._run(self.pending[0].sql)[0][0])
            correct = given.lower() == truth.lower()
            self.pending.pop(0)
            msg = "Correct." if correct else f"Incorrect, expected {truth}."
            return f"{msg} {self._question()}", 1.0 if correct else -0.5, not self.pending, truncated, {"correct": correct}
        if not action.upper().startswith("SELECT"):
            return "Only SELECT statements are allowed.", -0.2, False, truncated, {}
        try:
            rows = self._run(action)
        except sqlite3.Error as e:
            return f"SQL error: {e}", -0.1, False, truncated, {"error": True}
        return "\n".join(" | ".join(map(str, r)) for r in rows) or "(no rows)", -0.02, False, truncated, {}
