# seed: 4
# actions: ["1", "8", "abc", "submit 8", "5", "6", "3", "3"]
# expect_total: 4.55 after 8 steps
"""Number theory tutor: a single-file text environment.

The agent answers a sequence of short number-theory questions. Each correct answer
gives +1, each wrong answer costs 0.1, malformed answers cost 0.25.
"""
from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Callable, Optional


class QuestionKind(Enum):
    GCD = auto()
    TOTIENT = auto()
    MOD_INVERSE = auto()
    DIVISOR_COUNT = auto()


@dataclass(frozen=True)
class Question:
    kind: QuestionKind
    prompt: str
    answer: int


@dataclass
class EpisodeState:
    questions: list[Question] = field(default_factory=list)
    index: int = 0
    score: float = 0.0
    mistakes: int = 0

    @property
    def current(self) -> Optional[Question]:
        if self.index < len(self.questions):
            return self.questions[self.index]
        return None


def totient(n: int) -> int:
    return sum(1 for k in range(1, n + 1) if math.gcd(k, n) == 1)


def divisor_count(n: int) -> int:
    return sum(1 + (d * d != n) for d in range(1, math.isqrt(n) + 1) if n % d == 0)


class NumberTheoryEnv:
    MAX_TURNS = 12

    def __init__(self, num_questions: int = 5) -> None:
        self.num_questions = num_questions
        self._rng = random.Random()
        self._makers: dict[QuestionKind, Callable[[], Question]] = {
            QuestionKind.GCD: self._make_gcd,
            QuestionKind.TOTIENT: self._make_totient,
            QuestionKind.MOD_INVERSE: self._make_inverse,
            QuestionKind.DIVISOR_COUNT: self._make_divisors,
        }
        self.state = EpisodeState()
        self.turn = 0

    def reset(self, seed: int | None = None) -> str:
        self._rng.seed(seed)
        kinds = list(QuestionKind)
        self.state = EpisodeState([self._makers[self._rng.choice(kinds)]() for _ in range(self.num_questions)])
        self.turn = 0
        return self._render("Welcome to number theory practice.")

    def step(self, action: str) -> tuple[str, float, bool, dict]:
        self.turn += 1
        question = self.state.current
        assert question is not None, "step() called after the episode ended"
        text = str(action).strip().removeprefix("submit").strip()
        try:
            value = int(text)
        except ValueError:
            reward, note = -0.25, f"'{text}' is not an integer."
        else:
            if value == question.answer:
                reward, note = 1.0, "Correct!"
                self.state.index += 1
            else:
                reward = -0.1
                note = "Too small." if value < question.answer else "Too large."
                self.state.mistakes += 1
        self.state.score += reward
        done = self.state.current is None or self.turn >= self.MAX_TURNS
        return self._render(note), reward, done, {"kind": question.kind.name, "mistakes": self.state.mistakes}

    def _make_gcd(self) -> Question:
        g = self._rng.randint(2, 12)
        a, b = g * self._rng.randint(2, 15), g * self._rng.randint(2, 15)
        return Question(QuestionKind.GCD, f"What is gcd({a}, {b})?", math.gcd(a, b))

    def _make_totient(self) -> Question:
        n = self._rng.randint(5, 40)
        return Question(QuestionKind.TOTIENT, f"What is phi({n})?", totient(n))

    def _make_inverse(self) -> Question:
        p = self._rng.choice([5, 7, 11, 13, 17])
        a = self._rng.randrange(2, p)
        return Question(QuestionKind.MOD_INVERSE, f"What is the inverse of {a} modulo {p}?", pow(a, -1, p))

    def _make_divisors(self) -> Question:
        n = self._rng.randint(10, 99)
        return Question(QuestionKind.DIVISOR_COUNT, f"How many divisors does {n} have?", divisor_count(n))

    def _render(self, note: str) -> str:
        q = self.state.current
        lines = [note, f"Score: {self.state.score:+.2f}"]
        lines.append(f"Q{self.state.index + 1}: {q.prompt}" if q else "All questions answered.")
        return "\n".join(lines)
