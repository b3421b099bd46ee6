# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
import posixpath
from enum import Enum, auto, IntFlag
class Kind(Enum):
    DIR = auto(); FILE = auto()
class Perm(IntFlag):
    R = 4; W = 2; X = 1
class Node:
    def __init__(self, name, kind=Kind.FILE, content=""):
        self.name, self.kind, self.content, self.children, self.perm = name, kind, content, {}, Perm.R | Perm.W
class Env:
    def reset(self, seed=0):
        self.root = Node("/", Kind.DIR); self.cwd = "/home/user"
        return self.cwd
    def step(self, action):
        p = posixpath.normpath(posixpath.join(self.cwd, "../x/./y.txt"))
        shown = f"{p} {posixpath.basename(p)} {posixpath.dirname(p)} {posixpath.splitext(p)} {posixpath.isabs(p)} {Perm.R in self.root.perm} {self.root.perm.value}"
        expected = "/home/x/y.txt y.txt /home/x ('/home/x/y', '.txt') True True 6"
        return shown, float(shown == expected), True
