# seed: 81
# actions: ["pwd", "ls", "cd docs", "ls -l", "cat missing.txt", "find *.log", "cd ..", "mkdir archive", "mv logs/app0.log archive/app0.log", "mv 'logs/app1.log' archive", "echo \"hello world\" > notes.md", "rm -r docs", "tree", "grep ERROR logs/app1.log", "sha notes.md", "undo", "exit"]
# expect_total: 1.4 after 17 steps
"""Simulated shell over an in-memory file tree. Nothing touches the real disk."""
from __future__ import annotations

import fnmatch
import hashlib
import posixpath
import random
import shlex
from copy import deepcopy
from typing import Iterator, Union

Tree = dict[str, Union[str, "Tree"]]


class ShellError(Exception):
    pass


class VirtualFS:
    def __init__(self, root: Tree) -> None:
        self.root = root
        self.cwd = "/"

    def resolve(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.cwd, path))

    def lookup(self, path: str) -> Union[str, Tree]:
        node: Union[str, Tree] = self.root
        for part in filter(None, self.resolve(path).split("/")):
            if not isinstance(node, dict) or part not in node:
                raise ShellError(f"{path}: No such file or directory")
            node = node[part]
        return node

    def parent(self, path: str) -> tuple[Tree, str]:
        head, tail = posixpath.split(self.resolve(path))
        node = self.lookup(head)
        if not isinstance(node, dict):
            raise ShellError(f"{head}: Not a directory")
        return node, tail

    def walk(self, path: str = "/") -> Iterator[tuple[str, Union[str, Tree]]]:
        node = self.lookup(path)
        yield path, node
        if isinstance(node, dict):
            for name in sorted(node):
                yield from self.walk(posixpath.join(path, name))


class VirtualShellEnv:
    def __init__(self, max_steps: int = 30) -> None:
        self.max_steps = max_steps

    def reset(self, seed: int | None = None) -> tuple[str, dict]:
        rng = random.Random(seed)
        logs = {f"app{i}.log": "\n".join(f"{rng.choice(['INFO', 'WARN', 'ERROR'])} event {rng.randrange(100)}" for _ in range(4)) for i in range(3)}
        self.fs = VirtualFS({"logs": logs, "docs": {"readme.txt": "Welcome.", "todo.txt": f"buy {rng.choice(['milk', 'nails', 'paint'])}"}, "notes.md": "# Notes"})
        self.goal = {f"/archive/{n}" for n, text in logs.items() if "ERROR" in text}
        self.history: list[VirtualFS] = []
        self.steps = 0
        self.progress = 0.0
        return f"Move every log that contains ERROR to /archive, keep docs. Then 'exit'.\n{self.fs.cwd} $", {}

    def _measure(self) -> float:
        present = {p for p, n in self.fs.walk() if isinstance(n, str) and p.startswith("/archive/")}
        score = len(present & self.goal) - 0.5 * len(present - self.goal)
        return score - (0 if "docs" in self.fs.root else 1)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict]:
        self.steps += 1
        truncated = self.steps >= self.max_steps
        try:
            argv = shlex.split(action)
        except ValueError as e:
            return f"sh: {e}", -0.1, False, truncated, {}
        if not argv:
            return "", 0.0, False, truncated, {}
        if argv[0] == "exit":
            done_all = self._measure() == len(self.goal)
            return "logout", 1.0 if done_all else -0.5, True, truncated, {"complete": done_all}
        if argv[0] == "undo":
            if self.history:
                self.fs = self.history.pop()
            out = "restored"
        else:
            method = getattr(self, f"do_{argv[0]}", None)
            if method is None:
                return f"sh: {argv[0]}: command not found", -0.1, False, truncated, {}
            snapshot = deepcopy(self.fs)
            try:
                out = method(*argv[1:])
            except ShellError as e:
                return f"{argv[0]}: {e}", -0.05, False, truncated, {}
            except TypeError:
                return f"{argv[0]}: wrong number of arguments", -0.05, False, truncated, {}
            if snapshot.root != self.fs.root:
                self.history.append(snapshot)
        value = self._measure()
        reward, self.progress = value - self.progress, value
        return f"{out}\n{self.fs.cwd} $".lstrip(), reward, False, truncated, {}

    def do_pwd(self): return self.fs.cwd

    def do_ls(self, flag="", path="."):
        node = self.fs.lookup(path)
        if isinstance(node, str):
            return path
        if flag == "-l":
            return "\n".join(f"{'d' if isinstance(v, dict) else '-'} {len(v):>4} {k}" for k, v in sorted(node.items()))
        return "  ".join(sorted(node))

    def do_cd(self, path="/"):
        if not isinstance(self.fs.lookup(path), dict):
            raise ShellError(f"{path}: Not a directory")
        self.fs.cwd = self.fs.resolve(path)
        return ""

    def do_cat(self, path):
        node = self.fs.lookup(path)
        if isinstance(node, dict):
            raise ShellError(f"{path}: Is a directory")
        return node

    def do_grep(self, pattern, path):
        return "\n".join(line for line in self.do_cat(path).splitlines() if pattern in line)

    def do_find(self, pattern):
        return "\n".join(p for p, _ in self.fs.walk(self.fs.cwd) if fnmatch.fnmatch(posixpath.basename(p), pattern))

    def do_tree(self):
        return "\n".join("  " * p.count("/") + posixpath.basename(p) for p, _ in self.fs.walk())

    def do_sha(self, path):
        return hashlib.sha256(self.do_cat(path).encode("utf-8")).hexdigest()[:16]

    def do_mkdir(self, path):
        node, name = self.fs.parent(path)
        node.setdefault(name, {})
        return ""

    def do_mv(self, src, dst):
        value = self.fs.lookup(src)
        node, name = self.fs.parent(dst)
        if isinstance(node.get(name), dict):
            node, name = node[name], posixpath.basename(src)
        old, old_name = self.fs.parent(src)
        del old[old_name]
        node[name] = value
        return ""

    def do_rm(self, *args):
        node, name = self.fs.parent(args[-1])
        if name not in node:
            raise ShellError(f"{name}: No such file or directory")
        if isinstance(node[name], dict) and "-r" not in args:
            raise ShellError(f"{name}: Is a directory")
        del node[name]
        return ""

    def do_echo(self, *args):
        if ">" not in args:
            return " ".join(args)
        i = args.index(">")
        node, name = self.fs.parent(args[i + 1])
        node[name] = " ".join(args[:i])
        return ""
