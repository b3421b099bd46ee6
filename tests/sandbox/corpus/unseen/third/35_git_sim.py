# seed: 4
# actions: ["git status", "git branch login", "git checkout login", "write index.js console.log(1)", "git add index.js", "git commit -m 'add index'", "git checkout main", "git merge login"]
# expect_total: 1.0 after 8 steps
"""A toy version-control system: reach the goal state described in the task."""
import random
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Dict, List, Optional, Set, Tuple


@dataclass(frozen=True)
class Commit:
    message: str
    tree: Tuple[Tuple[str, str], ...]
    parents: Tuple["Commit", ...] = ()

    @property
    def id(self) -> str:
        data = repr((self.message, self.tree, [p.id for p in self.parents])).encode()
        return sha1(data).hexdigest()[:7]

    def ancestors(self) -> Set[str]:
        out, todo = set(), [self]
        while todo:
            c = todo.pop()
            if c.id not in out:
                out.add(c.id)
                todo += c.parents
        return out


class GitError(Exception):
    pass


@dataclass
class Repo:
    work: Dict[str, str] = field(default_factory=dict)
    index: Dict[str, str] = field(default_factory=dict)
    branches: Dict[str, Optional[Commit]] = field(default_factory=lambda: {"main": None})
    head: str = "main"

    @property
    def tip(self) -> Optional[Commit]:
        return self.branches[self.head]

    def add(self, *paths):
        for p in (sorted(self.work) if paths == (".",) else paths):
            if p not in self.work:
                raise GitError(f"fatal: pathspec '{p}' did not match any files")
            self.index[p] = self.work[p]
        return ""

    def commit(self, message="", *, parents=None):
        tree = tuple(sorted(self.index.items()))
        if self.tip and self.tip.tree == tree and parents is None:
            raise GitError("nothing to commit")
        base = (self.tip,) if self.tip else ()
        self.branches[self.head] = Commit(message, tree, parents or base)
        return f"[{self.head} {self.tip.id}] {message}"

    def branch(self, name=None):
        if name is None:
            return "\n".join(("* " if b == self.head else "  ") + b for b in sorted(self.branches))
        self.branches[name] = self.tip
        return ""

    def checkout(self, name):
        if name not in self.branches:
            raise GitError(f"error: pathspec '{name}' did not match")
        self.head = name
        self.index = dict(self.tip.tree) if self.tip else {}
        self.work = dict(self.index)
        return f"Switched to branch '{name}'"

    def merge(self, name):
        other = self.branches.get(name)
        if other is None:
            raise GitError(f"merge: {name} - not something we can merge")
        if other.id in self.tip.ancestors():
            return "Already up to date."
        if self.tip.id in other.ancestors():
            self.branches[self.head] = other
            kind = "Fast-forward"
        else:
            mine = dict(self.tip.tree)
            clash = [k for k, v in other.tree if k in mine and mine[k] != v]
            if clash:
                raise GitError(f"CONFLICT in {', '.join(clash)}")
            self.index = mine | dict(other.tree)
            self.commit(f"Merge {name}", parents=(self.tip, other))
            kind = "Merge made"
        self.checkout(self.head)
        return kind

    def log(self):
        lines, c = [], self.tip
        while c:
            lines.append(f"{c.id} {c.message}")
            c = c.parents[0] if c.parents else None
        return "\n".join(lines)

    def status(self):
        staged = [p for p in self.index if not self.tip or dict(self.tip.tree).get(p) != self.index[p]]
        dirty = [p for p in self.work if self.index.get(p) != self.work[p]]
        return f"On branch {self.head}\nstaged: {sorted(staged)}\nmodified: {sorted(dirty)}"


class Env:
    def reset(self, seed=None):
        rng = random.Random(seed)
        self.repo = Repo(work={"README": "hello"})
        self.repo.add(".")
        self.repo.commit("init")
        self.feature = rng.choice(["login", "search", "dark-mode"])
        self.filename = rng.choice(["app.py", "index.js", "main.go"])
        self.count = 0
        self.milestones: List[Tuple[str, object]] = [
            ("branch", lambda: self.feature in self.repo.branches),
            ("commit", lambda: self._has(self.feature)),
            ("merged", lambda: self._has("main")),
            ("cleanup", lambda: self._has("main") and self.repo.head == "main"),
        ]
        self.reached = set()
        return (f"Create branch '{self.feature}', add a file {self.filename} there (write NAME TEXT), commit it, "
                "merge it into main and end on main.\nCommands: write, git add|commit|branch|checkout|merge|log|status"), {}

    def _has(self, branch):
        c = self.repo.branches.get(branch)
        return c is not None and self.filename in dict(c.tree)

    def _run(self, words):
        if words[0] == "write" and len(words) >= 3:
            self.repo.work[words[1]] = " ".join(words[2:])
            return ""
        if words[0] != "git" or len(words) < 2 or words[1] not in {"add", "commit", "branch", "checkout", "merge", "log", "status"}:
            raise GitError("command not found")
        args = words[2:]
        if words[1] == "commit":
            args = [" ".join(a for a in args if a != "-m").strip("'\"")]
        return getattr(self.repo, words[1])(*args)

    def step(self, action):
        self.count += 1
        try:
            out, reward = self._run(action.split() or [""]), 0.0
        except GitError as e:
            out, reward = str(e), -0.1
        except TypeError as e:
            out, reward = "usage error", -0.1
        for name, test in self.milestones:
            if name not in self.reached and test():
                self.reached.add(name)
                reward += 0.25
        return f"$ {action}\n{out}".rstrip(), reward, len(self.reached) == 4, self.count >= 15, {"reached": sorted(self.reached)}
