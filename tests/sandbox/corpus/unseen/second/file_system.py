# seed: 9
# actions: ["pwd", "ls", "cd docs", "ls", "cat notes.txt", "cd ..", "mkdir backup", "mv docs/notes.txt backup/notes.txt", "cd backup", "ls", "rm nothing", "find secret", "touch a.txt", "cd /", "ls", "submit wrong"]
# expect_total: -1.05 after 16 steps
import random
import shlex
import string


class Node:
    def __init__(self, name, parent=None):
        self.name = name
        self.parent = parent

    def path(self):
        if self.parent is None:
            return "/"
        prefix = self.parent.path()
        return (prefix if prefix.endswith("/") else prefix + "/") + self.name


class File(Node):
    def __init__(self, name, parent=None, content=""):
        super().__init__(name, parent)
        self.content = content


class Directory(Node):
    def __init__(self, name, parent=None):
        super().__init__(name, parent)
        self.children = {}

    def add(self, node):
        node.parent = self
        self.children[node.name] = node
        return node

    def walk(self):
        yield self
        for child in sorted(self.children.values(), key=lambda n: n.name):
            if isinstance(child, Directory):
                yield from child.walk()
            else:
                yield child


class FileSystemEnv:
    """A simulated shell. Find the file holding the secret code and submit the code."""

    def __init__(self):
        self.root = None
        self.cwd = None
        self.max_steps = 30

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.root = Directory("")
        for name in ("docs", "src", "tmp"):
            d = self.root.add(Directory(name))
            for fname in ("notes.txt", "todo.txt"):
                d.add(File(fname, content=f"nothing useful in {name}/{fname}"))
        self.secret = "".join(rng.choices(string.ascii_uppercase + string.digits, k=6))
        target = rng.choice([n for n in self.root.walk() if isinstance(n, File)])
        target.content = f"secret code: {self.secret}"
        self.cwd = self.root
        self.steps = 0
        return "You are in a shell. Find the secret code and run: submit CODE"

    def _resolve(self, path):
        node = self.root if path.startswith("/") else self.cwd
        for part in filter(None, path.split("/")):
            if part == "..":
                node = node.parent or node
            elif part != ".":
                if not isinstance(node, Directory) or part not in node.children:
                    raise FileNotFoundError(path)
                node = node.children[part]
        return node

    def cmd_pwd(self):
        return self.cwd.path()

    def cmd_ls(self, path="."):
        node = self._resolve(path)
        return "  ".join(n + ("/" if isinstance(c, Directory) else "") for n, c in sorted(node.children.items()))

    def cmd_cd(self, path="/"):
        node = self._resolve(path)
        if not isinstance(node, Directory):
            raise NotADirectoryError(path)
        self.cwd = node
        return node.path()

    def cmd_cat(self, path):
        return self._resolve(path).content

    def cmd_mkdir(self, name):
        return "created " + self.cwd.add(Directory(name)).path()

    def cmd_touch(self, name):
        return "created " + self.cwd.add(File(name)).path()

    def cmd_mv(self, src, dst):
        node = self._resolve(src)
        folder, _, name = dst.rpartition("/")
        parent = self._resolve(folder) if folder else self.cwd
        del node.parent.children[node.name]
        node.name = name
        parent.add(node)
        return f"moved to {node.path()}"

    def cmd_find(self, word):
        hits = [n.path() for n in self.root.walk() if isinstance(n, File) and word in n.content]
        return "\n".join(hits) or "no match"

    def step(self, action):
        self.steps += 1
        argv = shlex.split(action)
        if argv and argv[0] == "submit":
            ok = argv[1:] == [self.secret]
            return ("accepted" if ok else "rejected"), (1.0 if ok else -1.0), True, {}
        handler = getattr(self, "cmd_" + argv[0], None) if argv else None
        if handler is None:
            return f"{action}: command not found", -0.05, False, {}
        try:
            out, reward = handler(*argv[1:]), 0.0
        except (FileNotFoundError, NotADirectoryError) as e:
            out, reward = f"{argv[0]}: {e}: {e.__class__.__name__}", -0.05
        except TypeError:
            out, reward = f"{argv[0]}: wrong number of arguments", -0.05
        if self.secret in out:
            reward += 0.3
        return out, reward, self.steps >= self.max_steps, {}
