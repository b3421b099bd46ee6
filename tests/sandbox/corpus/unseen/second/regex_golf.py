# seed: 40
# actions: ["a", "(unclosed", "(.)\\1", "^.*ing$", "\\d", "[0-9]+"]
# expect_total: 2.466666666666667 after 5 steps
import functools
import random
import re
from dataclasses import dataclass
from typing import Callable, List, Tuple


@dataclass
class GolfHole:
    name: str
    positives: Tuple[str, ...]
    negatives: Tuple[str, ...]
    par: int


def make_suffix(rng: random.Random) -> GolfHole:
    stems = rng.sample(["walk", "talk", "jump", "play", "cook", "paint", "climb"], 6)
    return GolfHole("suffix", tuple(s + "ing" for s in stems[:3]), tuple(s + "ed" for s in stems[3:]), 4)


def make_digits(rng: random.Random) -> GolfHole:
    pos = tuple(f"item{rng.randint(10, 99)}" for _ in range(3))
    neg = tuple(rng.sample(["item", "items", "itemize", "itemA"], 3))
    return GolfHole("digits", pos, neg, 2)


def make_double(rng: random.Random) -> GolfHole:
    pos = tuple(rng.sample(["letter", "hello", "coffee", "rabbit", "apple"], 3))
    neg = tuple(rng.sample(["world", "tea", "monkey", "orange", "lemon"], 3))
    return GolfHole("double", pos, neg, 5)


@functools.lru_cache(maxsize=128)
def compile_pattern(pattern: str) -> re.Pattern:
    return re.compile(pattern)


class RegexGolfEnv:
    """Write a regex which matches all of the first list and none of the second."""

    HOLES: List[Callable[[random.Random], GolfHole]] = [make_suffix, make_digits, make_double]

    def __init__(self, max_length: int = 40, tries_per_hole: int = 4):
        self.max_length = max_length
        self.tries_per_hole = tries_per_hole

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        makers = list(self.HOLES)
        self.rng.shuffle(makers)
        self.course = [maker(self.rng) for maker in makers]
        self.position = 0
        self.tries = 0
        return self._obs()

    def _obs(self, note=None):
        if self.position >= len(self.course):
            return f"{note}\nCourse complete."
        hole = self.course[self.position]
        out = [] if note is None else [note]
        out += [f"Hole {self.position + 1} (par {hole.par})", f"Match:  {' '.join(hole.positives)}", f"Reject: {' '.join(hole.negatives)}"]
        return "\n".join(out)

    def step(self, action: str):
        hole = self.course[self.position]
        self.tries += 1
        info = {"hole": hole.name, "length": len(action)}
        reward, note, advance = 0.0, "", False
        if len(action) > self.max_length:
            reward, note = -0.2, "Too long."
        else:
            try:
                pattern = compile_pattern(action)
            except re.error as exc:
                reward, note = -0.2, f"Invalid regex: {exc.msg} at position {exc.pos}"
            else:
                hits = sum(bool(pattern.search(w)) for w in hole.positives)
                false = sum(bool(pattern.search(w)) for w in hole.negatives)
                total = len(hole.positives)
                if hits == total and false == 0:
                    reward = 1.0 + 0.1 * (hole.par - len(action))
                    note, advance = "In the hole!", True
                else:
                    reward = 0.1 * (hits - false) / total
                    note = f"{hits}/{total} matched, {false} wrongly matched."
        if not advance and self.tries >= self.tries_per_hole:
            note += " No tries left."
            advance = True
        if advance:
            self.position += 1
            self.tries = 0
        return self._obs(note), reward, self.position >= len(self.course), info
