# seed: 6
# actions: ["show", "sub 1 teh the", "swap 2 3", "del 9", "undo", "insert 2 hello world", "undo", "undo", "diff", "sub 2 recieve receive", "upper 1", "submit"]
# expect_total: -1.402970297 after 12 steps
"""Text editing environment: restore a corrupted paragraph with line commands."""
import copy
import difflib
import random
import textwrap
from typing import Callable, Dict, List

SOURCE = textwrap.dedent(
    """\
    The lighthouse keeper woke before dawn.
    He climbed the stairs to receive the signal.
    A ship was sailing close to the rocks.
    Its captain believed the harbour was near.
    The light turned slowly in the fog.
    """
)

TYPOS = {"The": "Teh", "the": "teh", "receive": "recieve", "believed": "beleived", "captain": "captian", "was": "saw"}


def similarity(a: List[str], b: List[str]) -> float:
    return difflib.SequenceMatcher(None, "\n".join(a), "\n".join(b)).ratio()


class TextEditorEnv:
    def __init__(self):
        self.commands: Dict[str, Callable[..., str]] = {
            "sub": self._sub,
            "swap": self._swap,
            "del": self._del,
            "insert": self._insert,
            "upper": lambda n: self._apply(int(n), str.upper),
        }

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.target = SOURCE.splitlines()
        self.lines = list(self.target)
        for i, line in enumerate(self.lines):
            words = line.split(" ")
            for j, w in enumerate(words):
                if w in TYPOS and rng.random() < 0.5:
                    words[j] = TYPOS[w]
            self.lines[i] = " ".join(words)
        a, b = sorted(rng.sample(range(len(self.lines)), 2))
        self.lines[a], self.lines[b] = self.lines[b], self.lines[a]
        self.stack: List[List[str]] = []
        self.score = similarity(self.lines, self.target)
        return self._show()

    def _show(self) -> str:
        return "\n".join(f"{i:>2} | {l}" for i, l in enumerate(self.lines, 1))

    def _apply(self, n, fn):
        self.lines[n - 1] = fn(self.lines[n - 1])
        return "ok"

    def _sub(self, n, old, new):
        return self._apply(int(n), lambda l: l.replace(old, new))

    def _swap(self, a, b):
        a, b = int(a) - 1, int(b) - 1
        self.lines[a], self.lines[b] = self.lines[b], self.lines[a]
        return "ok"

    def _del(self, n):
        del self.lines[int(n) - 1]
        return "deleted"

    def _insert(self, n, *words):
        self.lines.insert(int(n) - 1, " ".join(words))
        return "inserted"

    def step(self, action: str):
        name, *args = action.split()
        if name == "show":
            return self._show(), 0.0, False, {}
        if name == "submit":
            exact = self.lines == self.target
            return ("Perfect!" if exact else "Not identical."), (2.0 if exact else self.score - 1.0), True, {"score": self.score}
        if name == "diff":
            n = sum(x != y for x, y in zip(self.lines, self.target))
            return f"{n} lines differ", -0.1, False, {}
        if name == "undo":
            if not self.stack:
                return "nothing to undo", -0.05, False, {}
            self.lines = self.stack.pop()
            msg = "undone"
        elif name in self.commands:
            self.stack.append(copy.deepcopy(self.lines))
            try:
                msg = self.commands[name](*args)
            except (IndexError, TypeError, ValueError) as e:
                self.lines = self.stack.pop()
                return f"error: {e}", -0.1, False, {}
        else:
            return f"unknown command: {name}", -0.1, False, {}
        new = similarity(self.lines, self.target)
        reward, self.score = new - self.score, new
        return f"{msg}\n{self._show()}", reward, False, {"score": round(self.score, 3)}
