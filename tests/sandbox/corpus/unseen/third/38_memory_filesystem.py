# seed: 2
# actions: ["ls", "grep TOKEN", "cd nowhere", "cd /etc/conf", "cat f0.txt", "du", "cp f0.txt /home/answer.txt"]
# expect_total: 1.08 after 7 steps
"""In-memory shell: find the file with the secret token and copy it to /home/answer.txt."""
import random
import shlex
from abc import ABC, abstractmethod
from collections import deque


class Node(ABC):
    def __init__(self, name, parent=None):
        self.name = name
        self.parent = parent

    @property
    def path(self):
        if self.parent is None:
            return "/"
        base = self.parent.path
        return base + self.name if base == "/" else f"{base}/{self.name}"

    @abstractmethod
    def size(self):
        ...


class File(Node):
    def __init__(self, name, content="", parent=None):
        super().__init__(name, parent)
        self.content = content

    def size(self):
        return len(self.content)


class Directory(Node):
    def __init__(self, name, parent=None):
        super().__init__(name, parent)
        self.children = {}

    def size(self):
        return sum(child.size() for child in self.children.values())

    def mkdir(self, name):
        return self.children.setdefault(name, Directory(name, self))

    def touch(self, name, content=""):
        f = File(name, content, self)
        self.children[name] = f
        return f

    def walk(self):
        queue = deque([self])
        while queue:
            node = queue.popleft()
            yield node
            if isinstance(node, Directory):
                queue.extend(node.children[k] for k in sorted(node.children))


class ShellError(Exception):
    pass


class Env:
    WORDS = ["alpha", "beta", "gamma", "delta", "omega", "sigma"]
    DIRS = ["home", "etc", "var", "tmp", "opt"]

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.root = Directory("")
        for d in self.DIRS:
            directory = self.root.mkdir(d)
            for sub in self.rng.sample(["logs", "data", "cache", "conf"], k=2):
                subdir = directory.mkdir(sub)
                for i in range(self.rng.randint(1, 3)):
                    subdir.touch(f"f{i}.txt", " ".join(self.rng.choices(self.WORDS, k=4)))
        self.token = "TOKEN-%04d" % self.rng.randrange(10000)
        files = [n for n in self.root.walk() if isinstance(n, File)]
        self.secret = self.rng.choice(files)
        self.secret.content += f"\n{self.token}"
        self.cwd = self.root
        self.seen_token = False
        self.moves = 0
        return ("Find the file holding a TOKEN and copy that file to /home/answer.txt.\n"
                "Commands: ls [path], cd path, cat file, grep word, cp src dst, du, pwd"), {}

    def _resolve(self, path):
        node = self.root if path.startswith("/") else self.cwd
        for part in path.split("/"):
            if part in ("", "."):
                continue
            if part == "..":
                node = node.parent or node
                continue
            if not isinstance(node, Directory) or part not in node.children:
                raise ShellError(f"{path}: No such file or directory")
            node = node.children[part]
        return node

    def do_ls(self, path="."):
        node = self._resolve(path)
        if isinstance(node, File):
            return node.name
        return "  ".join(n + ("/" if isinstance(c, Directory) else "") for n, c in sorted(node.children.items())) or "(empty)"

    def do_cd(self, path="/"):
        node = self._resolve(path)
        if not isinstance(node, Directory):
            raise ShellError(f"{path}: Not a directory")
        self.cwd = node
        return ""

    def do_pwd(self):
        return self.cwd.path

    def do_cat(self, path):
        node = self._resolve(path)
        if isinstance(node, Directory):
            raise ShellError(f"{path}: Is a directory")
        return node.content

    def do_grep(self, word):
        hits = [n.path for n in self.cwd.walk() if isinstance(n, File) and word in n.content]
        return "\n".join(hits) if hits else "(no matches)"

    def do_cp(self, src, dst):
        content = self.do_cat(src)
        head, _, name = dst.rpartition("/")
        target = self._resolve(head or ("/" if dst.startswith("/") else "."))
        if not isinstance(target, Directory):
            raise ShellError(f"{head}: Not a directory")
        target.touch(name, content)
        return f"copied {len(content)} bytes"

    def do_du(self):
        return f"{self.cwd.size()}\t{self.cwd.path}"

    def step(self, action):
        self.moves += 1
        reward = -0.02
        try:
            cmd, *args = shlex.split(action)
            handler = getattr(self, "do_" + cmd, None)
            if handler is None:
                raise ShellError(f"{cmd}: command not found")
            out = handler(*args)
        except ShellError as e:
            out, reward = f"error: {e}", -0.1
        except (TypeError, ValueError):
            out, reward = "error: usage", -0.1
        if not self.seen_token and (self.token in out or self.secret.path in out):
            self.seen_token = True
            reward += 0.3
        answer = self.root.children["home"].children.get("answer.txt")
        done = isinstance(answer, File) and self.token in answer.content
        if done:
            reward += 1.0
        return f"{self.cwd.path}$ {action}\n{out}", reward, done, self.moves >= 20, {"cwd": self.cwd.path}
