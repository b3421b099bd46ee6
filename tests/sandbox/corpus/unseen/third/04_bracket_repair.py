# seed: 13
# actions: ["insert 99 (", "replace 0 {", "replace 3 }", "submit"]
# expect_total: 0.6499999999999999 after 4 steps
"""String task: repair a broken bracket sequence by edits. Trains stack-like reasoning."""
import random
from typing import Iterator, List, Optional, Tuple

PAIRS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {v: k for k, v in PAIRS.items()}


def random_balanced(rng: random.Random, pairs: int) -> Iterator[str]:
    stack: List[str] = []
    remaining = pairs
    while remaining or stack:
        if remaining and (not stack or rng.random() < 0.55):
            opener = rng.choice("([{")
            stack.append(opener)
            remaining -= 1
            yield opener
        else:
            yield PAIRS[stack.pop()]


def first_error(text: str) -> Optional[int]:
    """Index of the first problem, len(text) when something is left open, None when balanced."""
    stack = []
    for i, ch in enumerate(text):
        if ch in PAIRS:
            stack.append(ch)
        elif not stack or stack.pop() != CLOSERS[ch]:
            return i
    return len(text) if stack else None


class Env:
    EDIT_LIMIT = 8

    def reset(self, seed: Optional[int] = None) -> Tuple[str, dict]:
        rng = random.Random(seed)
        while True:
            good = list(random_balanced(rng, pairs=5))
            bad = good[:]
            ops = []
            for _ in range(2):
                kind = rng.choice(["swap", "delete", "flip"])
                i = rng.randrange(len(bad) - 1)
                if kind == "swap":
                    bad[i], bad[i + 1] = bad[i + 1], bad[i]
                elif kind == "delete":
                    del bad[i]
                else:
                    bad[i] = rng.choice([c for c in "()[]{}" if c != bad[i]])
                ops.append(kind)
            if first_error("".join(bad)) is not None:
                break
        self.reference = "".join(good)
        self.text = "".join(bad)
        self.edits = 0
        self.best_prefix = first_error(self.text)
        return self._show(), {"corruptions": ops}

    def _show(self, note: str = "") -> str:
        ruler = "".join(str(i % 10) for i in range(len(self.text)))
        lines = [note] if note else []
        lines += [
            "Make this bracket string balanced:",
            f"  {self.text}",
            f"  {ruler}",
            f"Edits used: {self.edits}/{self.EDIT_LIMIT}",
            "Commands: insert POS CHAR | delete POS | replace POS CHAR | submit",
        ]
        return "\n".join(lines)

    def _apply(self, words: List[str]) -> str:
        op, pos = words[0], int(words[1])
        upper = len(self.text) + (op == "insert")
        if pos < 0 or pos >= upper:
            raise IndexError(f"position {pos} is outside the string")
        chars = list(self.text)
        if op == "delete":
            del chars[pos]
        else:
            ch = words[2]
            if ch not in PAIRS and ch not in CLOSERS:
                raise ValueError(f"{ch!r} is not a bracket")
            if op == "insert":
                chars.insert(pos, ch)
            elif op == "replace":
                chars[pos] = ch
            else:
                raise ValueError(f"unknown command {op!r}")
        return "".join(chars)

    def step(self, action: str) -> Tuple[str, float, bool, bool, dict]:
        words = action.split()
        if words == ["submit"]:
            error = first_error(self.text)
            if error is None:
                reward = 1.0 - 0.1 * self.edits + (0.1 if self.text == self.reference else 0.0)
                return self._show("Balanced."), reward, True, False, {"final": self.text}
            return self._show(f"Not balanced: problem at {error}."), -0.5, True, False, {"final": self.text}
        self.edits += 1
        reward = 0.0
        try:
            self.text = self._apply(words)
            note = "OK."
        except (IndexError, ValueError) as exc:
            note = f"Error: {exc}"
            reward = -0.1
        else:
            err = first_error(self.text)
            progress = len(self.text) if err is None else err
            if progress > self.best_prefix:
                reward += 0.05
                self.best_prefix = progress
        truncated = self.edits >= self.EDIT_LIMIT
        return self._show(note), reward, False, truncated, {"edits": self.edits}
