# seed: 29
# actions: ["status", "restart db", "run migrate", "logs migrate", "rollback", "run ingest", "retry ingest", "retry ingest", "fix schema", "run migrate", "run ingest", "retry ingest", "run report", "run report"]
# expect_total: 1.26 after 14 steps
"""Pipeline error recovery: operate a flaky data pipeline and recover from faults."""
from __future__ import annotations

import contextlib
import random
import traceback
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import wraps


class PipelineError(Exception):
    code = "E000"


class TransientError(PipelineError):
    code = "E100"


class SchemaError(PipelineError):
    code = "E200"


class DependencyError(PipelineError):
    code = "E300"


def counted(fn: Callable) -> Callable:
    """Decorator that keeps track of how often a stage was attempted."""

    @wraps(fn)
    def wrapper(self, *args, **kwargs):
        self.counts[fn.__name__] = self.counts.get(fn.__name__, 0) + 1
        return fn(self, *args, **kwargs)

    return wrapper


@dataclass
class World:
    db_up: bool = True
    schema_ok: bool = True
    completed: list[str] = field(default_factory=list)
    backlog: int = 0


class PipelineRecoveryEnv:
    STAGES = ("migrate", "ingest", "report")

    def reset(self, seed: int | None = None):
        self.rng = random.Random(seed)
        self.world = World(db_up=self.rng.random() < 0.5, schema_ok=self.rng.random() < 0.5, backlog=self.rng.randint(2, 4))
        self.counts: dict[str, int] = {}
        self.log: list[str] = []
        self.t = 0
        return f"Complete stages {' -> '.join(self.STAGES)}. Backlog: {self.world.backlog} batches.", {"stages": self.STAGES}

    @contextlib.contextmanager
    def _transaction(self) -> Generator[World, None, None]:
        snapshot = World(self.world.db_up, self.world.schema_ok, list(self.world.completed), self.world.backlog)
        try:
            yield self.world
        except PipelineError as err:
            self.world = snapshot
            self.log.append(traceback.format_exception_only(type(err), err)[-1].strip())
            raise

    @counted
    def migrate(self) -> str:
        with self._transaction() as w:
            w.completed.append("migrate")
            if not w.db_up:
                raise TransientError("database connection refused")
            if not w.schema_ok:
                raise SchemaError("column 'ts' is missing")
        return "migration applied"

    @counted
    def ingest(self) -> str:
        with self._transaction() as w:
            if "migrate" not in w.completed:
                raise DependencyError("run migrate first")
            w.backlog -= 1
            if self.rng.random() < 0.3:
                raise TransientError("network reset by peer")
            if w.backlog > 0:
                return f"{w.backlog} batches left"
            w.completed.append("ingest")
        return "ingest complete"

    @counted
    def report(self) -> str:
        with self._transaction() as w:
            missing = [s for s in self.STAGES[:2] if s not in w.completed]
            if missing:
                raise DependencyError(f"missing {', '.join(missing)}")
            w.completed.append("report")
        return "report published"

    def step(self, action: str):
        self.t += 1
        verb, _, arg = action.partition(" ")
        reward, obs = -0.01, ""
        before = len(self.world.completed)
        try:
            if verb in {"run", "retry"} and arg in self.STAGES:
                obs = getattr(self, arg)()
            elif verb == "status":
                obs = repr(self.world)
            elif verb == "logs":
                obs = "\n".join(self.log[-3:]) or "(empty)"
            elif verb == "restart":
                self.world.db_up, obs = True, "database restarted"
            elif verb == "fix":
                self.world.schema_ok, obs = True, "schema patched"
            elif verb == "rollback":
                self.world.completed.clear()
                obs, before = "rolled back", 0
            else:
                raise ValueError(action)
        except PipelineError as err:
            obs = f"[{err.code}] {type(err).__name__}: {err}"
            reward -= 0.1
        except ValueError as err:
            obs, reward = f"bad command: {err}", -0.2
        else:
            reward += 1.0 * (len(self.world.completed) - before)
        finally:
            self.last_action = action
        finished = "report" in self.world.completed
        return obs, reward, finished, self.t >= 25, {"counts": dict(self.counts)}
