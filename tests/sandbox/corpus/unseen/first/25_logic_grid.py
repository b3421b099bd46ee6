# seed: 77
# actions: ["clues", "mark alice red yes", "mark bob blue no", "mark bob tea yes", "check", "clue", "guess alice=red,tea bob=blue,milk carol=green,juice", "guess alice=green,milk bob=red,tea carol=blue,juice", "guess nobody", "give up"]
# expect_total: -1.9 after 10 steps
"""A zebra-style logic grid puzzle generated with a uniqueness guarantee."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations, product
from random import Random
from typing import Callable, Iterable, Sequence, TypeAlias

PEOPLE = ("alice", "bob", "carol")
COLOURS = ("red", "blue", "green")
DRINKS = ("tea", "milk", "juice")

Solution: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...]]"


@lru_cache(maxsize=None)
def universe() -> tuple[Solution, ...]:
    return tuple(product(permutations(COLOURS), permutations(DRINKS)))


@dataclass(frozen=True)
class Clue:
    text: str
    predicate: Callable[[Solution], bool]

    def filter(self, worlds: Iterable[Solution]) -> list[Solution]:
        return [w for w in worlds if self.predicate(w)]


class Puzzle:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.solution: Solution = rng.choice(universe())
        self.clues: list[Clue] = []
        worlds: Sequence[Solution] = universe()
        while len(worlds) > 1:
            clue = rng.choice(self._candidates)
            narrowed = clue.filter(worlds)
            if len(narrowed) < len(worlds):
                self.clues.append(clue)
                worlds = narrowed

    @cached_property
    def _candidates(self) -> list[Clue]:
        out: list[Clue] = []
        for i, person in enumerate(PEOPLE):
            for j, options in enumerate((COLOURS, DRINKS)):
                for value in options:
                    holds = self.solution[j][i] == value
                    word = "has" if j == 0 else "drinks"
                    if holds:
                        continue
                    out.append(Clue(f"{person.title()} never {word} {value}.", lambda w, i=i, j=j, v=value: w[j][i] != v))
        for colour, drink in product(COLOURS, DRINKS):
            pred = lambda w, c=colour, d=drink: w[0].index(c) == w[1].index(d)
            if pred(self.solution):
                out.append(Clue(f"The owner of {colour} drinks {drink}.", pred))
        return out


class LogicGridEnv:
    def __init__(self, max_steps: int = 15) -> None:
        self.max_steps = max_steps

    def reset(self, seed: int | None = None) -> str:
        self.puzzle = Puzzle(Random(seed))
        self.marks: dict[tuple[str, str], bool] = {}
        self.revealed = max(1, len(self.puzzle.clues) - 2)
        self.t = 0
        return self._clues()

    def _clues(self) -> str:
        return "\n".join(f"{k}. {c.text}" for k, c in enumerate(self.puzzle.clues[: self.revealed], start=1))

    def _truth(self, person: str, value: str) -> bool:
        i = PEOPLE.index(person)
        return value in (self.puzzle.solution[0][i], self.puzzle.solution[1][i])

    def step(self, action: str) -> tuple[str, float, bool, dict]:
        self.t += 1
        verb, *rest = action.lower().split()
        done = self.t >= self.max_steps
        if verb == "clues":
            return self._clues(), 0.0, done, {}
        if verb == "clue":
            if self.revealed == len(self.puzzle.clues):
                return "There are no more clues.", -0.05, done, {}
            self.revealed += 1
            return self.puzzle.clues[self.revealed - 1].text, -0.1, done, {}
        if verb == "mark" and len(rest) == 3 and rest[0] in PEOPLE and rest[1] in COLOURS + DRINKS:
            self.marks[rest[0], rest[1]] = rest[2] == "yes"
            return f"Noted ({len(self.marks)} marks).", 0.0, done, {}
        if verb == "check":
            wrong = [k for k, v in self.marks.items() if self._truth(*k) != v]
            return f"{len(wrong)} marks are wrong.", -0.2, done, {}
        if verb == "guess":
            try:
                pairs = dict(part.split("=") for part in rest)
                score = sum(self._truth(p, v) for p, vs in pairs.items() for v in vs.split(","))
            except ValueError:
                return "Format: guess alice=red,tea bob=... carol=...", -0.1, done, {}
            total = 2 * len(PEOPLE)
            return f"{score}/{total} correct.", score / total - 0.5 if score < total else 2.0, done or score == total, {"score": score}
        if action == "give up":
            return f"Solution: {self.puzzle.solution}", -1.0, True, {}
        return "Unknown action.", -0.1, done, {}
