# seed: 21
# actions: ["mkdir docs images data", "cat core.tmp", "mv beach.csv /home/data", "mv notes.png /home/images", "mv sales.txt /home/docs", "mv todo.png /home/images", "cd docs", "rm ../core.tmp", "ls /home", "du", "exit"]
# expect_total: 1.9500000000000002 after 11 steps
"""An in-memory file system with a shell. The task: tidy up a messy home directory."""
import posixpath
import random
import shlex
from abc import ABC, abstractmethod


class Node(ABC):
    def __init__(self, name, parent=None):
        self.name = name
        self.parent = parent

    @property
    def path(self):
        if self.parent is None:
            return "/"
        return posixpath.join(self.parent.path, self.name)

    @abstractmethod
    def size(self):
        raise NotImplementedError


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

    def add(self, node):
        node.parent = self
        self.children[node.name] = node
        return node

    def size(self):
        return sum(c.size() for c in self.children.values())

    def walk(self):
        for name in sorted(self.children):
            child = self.children[name]
            yield child
            if isinstance(child, Directory):
                yield from child.walk()


class ShellError(Exception):
    pass


class Env:
    EXTENSIONS = {"txt": "docs", "png": "images", "csv": "data"}

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.root = Directory("")
        home = self.root.add(Directory("home"))
        stems = rng.sample(["report", "cat", "sales", "notes", "logo", "todo", "beach", "budget"], 4)
        for stem in stems:
            ext = rng.choice(sorted(self.EXTENSIONS))
            home.add(File(f"{stem}.{ext}", "x" * rng.randint(1, 50)))
        home.add(File("core.tmp", "garbage" * rng.randint(2, 5)))
        self.cwd = home
        self.n = 0
        self.last_score = self._score()
        task = ("Sort the files in /home: .txt into /home/docs, .png into /home/images, .csv into /home/data; "
                "delete every .tmp file. Commands: ls [DIR], cd DIR, mkdir DIR, mv FILE DIR, rm FILE, du, exit.")
        return task + "\n" + self._ls([]), {"files": len(home.children)}

    def _score(self):
        files = [f for f in self.root.walk() if isinstance(f, File)]
        good = 0
        for f in files:
            ext = f.name.rpartition(".")[2]
            if f.path == f"/home/{self.EXTENSIONS.get(ext)}/{f.name}":
                good += 1
        good += all(not f.name.endswith(".tmp") for f in files)
        return good / 5

    def _resolve(self, path):
        node = self.root if path.startswith("/") else self.cwd
        for part in path.split("/"):
            if part in ("", "."):
                continue
            if part == "..":
                node = node.parent or node
            elif isinstance(node, Directory) and part in node.children:
                node = node.children[part]
            else:
                raise ShellError(f"{path}: no such file or directory")
        return node

    def _ls(self, args):
        d = self._resolve(args[0]) if args else self.cwd
        if isinstance(d, File):
            return d.name
        return "\n".join(f"{c.size():>5} {c.name}{'/' if isinstance(c, Directory) else ''}"
                         for _, c in sorted(d.children.items())) or "(empty)"

    def _cd(self, args):
        d = self._resolve(args[0] if args else "/home")
        if not isinstance(d, Directory):
            raise ShellError("not a directory")
        self.cwd = d
        return d.path

    def _mkdir(self, args):
        for arg in args:
            head, tail = posixpath.split(arg.rstrip("/"))
            parent = self._resolve(head) if head else self.cwd
            if tail in parent.children:
                raise ShellError(f"{arg}: exists")
            parent.add(Directory(tail))
        return ""

    def _mv(self, args):
        *sources, target = args
        dest = self._resolve(target)
        if not isinstance(dest, Directory):
            raise ShellError(f"{target}: not a directory")
        for s in sources:
            node = self._resolve(s)
            del node.parent.children[node.name]
            dest.add(node)
        return ""

    def _rm(self, args):
        for node in [self._resolve(a) for a in args]:
            if isinstance(node, Directory):
                raise ShellError(f"{node.name}: is a directory")
            del node.parent.children[node.name]
        return ""

    def _du(self, args):
        return f"{self.root.size()} bytes"

    def step(self, action):
        self.n += 1
        error = None
        try:
            argv = shlex.split(action)
            name, args = argv[0], argv[1:]
            if name == "exit":
                final = self._score()
                return "logout", 1.0 if final == 1.0 else -0.5, True, False, {"score": final}
            handler = getattr(self, "_" + name) if name in ("ls", "cd", "mkdir", "mv", "rm", "du") else None
            if handler is None:
                raise ShellError(f"{name}: command not found")
            out = handler(args)
        except (ShellError, ValueError, IndexError) as exc:
            error = str(exc)
            out = f"sh: {error}"
        score = self._score()
        reward = (score - self.last_score) - (0.05 if error else 0)
        self.last_score = score
        return f"{out}\n{self.cwd.path} $ ".lstrip("\n"), reward, False, self.n >= 25, {"score": score, "error": error}
