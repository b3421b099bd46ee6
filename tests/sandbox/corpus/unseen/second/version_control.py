# seed: 20
# actions: ["log", "branch fix", "checkout fix", "bisect 4", "bisect 6", "bisect 5", "revert 5", "commit repair the parser", "checkout main", "merge fix", "rebase", "status", "blame 6"]
# expect_total: -1.35 after 13 steps
"""A toy version control system: find the commit that broke the tests (git-bisect style)."""
from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, Callable, Dict, List, Optional

COMMANDS: Dict[str, Callable[..., str]] = {}


def command(name: str, *, cost: float = 0.0):
    """Register a method as a command of the environment."""

    def decorator(fn):
        @wraps(fn)
        def wrapper(self, *args):
            self.spent += cost
            return fn(self, *args)

        COMMANDS[name] = wrapper
        return wrapper

    return decorator


class VcsError(RuntimeError):
    pass


@dataclass(eq=False)
class Commit:
    number: int
    message: str
    parents: List["Commit"] = field(default_factory=list)
    breaks: bool = False
    repairs: bool = False

    @cached_property
    def sha(self) -> str:
        payload = f"{self.number}|{self.message}|" + ",".join(p.sha for p in self.parents)
        return hashlib.sha1(payload.encode("utf-8")).hexdigest()[:8]

    def passes(self) -> bool:
        if self.repairs:
            return True
        if self.breaks:
            return False
        return all(p.passes() for p in self.parents)


class VersionControlEnv:
    MESSAGES = ("add feature", "refactor parser", "update docs", "bump deps", "tidy imports", "speed up cache")

    def __init__(self, n_commits: int = 8, max_steps: int = 20) -> None:
        self.n_commits = n_commits
        self.max_steps = max_steps

    def reset(self, seed: Optional[int] = None):
        rng = random.Random(seed)
        self.commits: List[Commit] = []
        bad = rng.randint(2, self.n_commits - 1)
        for n in range(1, self.n_commits + 1):
            parents = [self.commits[-1]] if self.commits else []
            self.commits.append(Commit(n, rng.choice(self.MESSAGES), parents, breaks=(n == bad)))
        self.bad = bad
        self.branches: Dict[str, Commit] = {"main": self.commits[-1]}
        self.head = "main"
        self.steps = 0
        self.spent = 0.0
        return f"Tests fail on main ({self.commits[-1].sha}). Find the guilty commit with 'blame N'. Commands: {', '.join(sorted(COMMANDS))}"

    def _commit(self, message: str, extra: Optional[Commit] = None, **flags: bool) -> Commit:
        parents = [self.branches[self.head]] + ([extra] if extra else [])
        new = Commit(len(self.commits) + 1, message, parents, **flags)
        self.commits.append(new)
        self.branches[self.head] = new
        return new

    @command("log")
    def log(self) -> str:
        return "\n".join(f"{c.number} {c.sha} {c.message}" for c in reversed(self.commits))

    @command("branch")
    def branch(self, name: str) -> str:
        if name in self.branches:
            raise VcsError(f"branch {name} exists")
        self.branches[name] = self.branches[self.head]
        return f"created {name}"

    @command("checkout")
    def checkout(self, name: str) -> str:
        if name not in self.branches:
            raise VcsError(f"no branch {name}")
        self.head = name
        return f"on {name}"

    @command("bisect", cost=0.05)
    def bisect(self, number: str) -> str:
        commit = self.commits[int(number) - 1]
        return f"{commit.sha}: tests {'pass' if commit.passes() else 'FAIL'}"

    @command("revert", cost=0.1)
    def revert(self, number: str) -> str:
        guilty = self.commits[int(number) - 1]
        return "created " + self._commit(f"revert {guilty.sha}", repairs=guilty.breaks).sha

    @command("commit")
    def commit(self, *words: str) -> str:
        return "created " + self._commit(" ".join(words)).sha

    @command("merge")
    def merge(self, name: str) -> str:
        other = self.branches.get(name)
        if other is None:
            raise VcsError(f"no branch {name}")
        return "merged as " + self._commit(f"merge {name}", other).sha

    @command("status")
    def status(self) -> str:
        tip = self.branches[self.head]
        return f"{self.head} at {tip.sha}; tests {'pass' if tip.passes() else 'fail'}"

    def step(self, action: str) -> tuple[str, float, bool, bool, Dict[str, Any]]:
        self.steps += 1
        truncated = self.steps >= self.max_steps
        name, *args = action.split()
        if name == "blame":
            right = args == [str(self.bad)]
            return ("Right." if right else f"No, it was {self.bad}."), (1.0 if right else -1.0), True, False, {"bad": self.bad}
        spent = self.spent
        try:
            output = COMMANDS[name](self, *args)
        except KeyError:
            return f"vcs: '{name}' is not a command", -0.1, False, truncated, {}
        except (VcsError, TypeError, ValueError, IndexError) as exc:
            return f"fatal: {exc}", -0.1, False, truncated, {}
        return output, spent - self.spent, False, truncated, {"head": self.head}
