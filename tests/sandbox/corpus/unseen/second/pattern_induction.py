# seed: 8
# actions: ["700", "729", "next", "hint", "64", "20", "24", "128"]
# expect_total: 2.5 after 8 steps
import random
from abc import ABC, abstractmethod
from typing import List, Type


class SequenceRule(ABC):
    """Base class for hidden sequence rules."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    @abstractmethod
    def generate(self, n: int) -> List[int]:
        ...

    @property
    def description(self) -> str:
        return self.__class__.__name__


class Arithmetic(SequenceRule):
    def generate(self, n):
        start, diff = self.rng.randint(-5, 20), self.rng.randint(2, 9)
        return [start + i * diff for i in range(n)]


class Geometric(SequenceRule):
    def generate(self, n):
        a, r = self.rng.randint(1, 4), self.rng.choice([2, 3])
        return [a * r ** i for i in range(n)]


class FibonacciLike(SequenceRule):
    def generate(self, n):
        seq = [self.rng.randint(1, 4), self.rng.randint(1, 6)]
        while len(seq) < n:
            seq.append(seq[-1] + seq[-2])
        return seq


class Alternating(SequenceRule):
    def generate(self, n):
        a, b = self.rng.randint(1, 9), self.rng.randint(1, 9)
        return [a + i if i % 2 == 0 else b - i for i in range(n)]


class PatternEnv:
    RULES: List[Type[SequenceRule]] = [Arithmetic, Geometric, FibonacciLike, Alternating]
    ROUNDS = 4
    SHOWN = 5

    def __init__(self):
        self.rng = random.Random()
        self.round = 0
        self.attempts = 0
        self.hint_used = False

    def _new_round(self):
        rule_cls = self.rng.choice(self.RULES)
        self.rule = rule_cls(self.rng)
        self.sequence = self.rule.generate(self.SHOWN + 1)
        self.attempts = 0
        self.hint_used = False

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.round = 1
        self._new_round()
        return self._show()

    def _show(self):
        shown = ", ".join(map(str, self.sequence[:-1]))
        return f"Round {self.round}/{self.ROUNDS}. Sequence: {shown}, ?"

    def step(self, action):
        action = str(action).strip().lower()
        answer = self.sequence[-1]
        if action == "hint":
            self.hint_used = True
            return f"Hint: the rule is {self.rule.description}.\n" + self._show(), -0.2, False, {}
        if not action.lstrip("-").isdigit():
            return "Please answer with an integer.\n" + self._show(), -0.1, False, {}
        self.attempts += 1
        guess = int(action)
        reward, advance = 0.0, False
        if guess == answer:
            reward = 1.0 if not self.hint_used else 0.5
            message, advance = "Yes!", True
        elif self.attempts >= 3:
            message, advance = f"No. The answer was {answer}.", True
        else:
            reward = -0.05 * min(abs(guess - answer), 10)
            message = "No, try again."
        done = False
        if advance:
            if self.round >= self.ROUNDS:
                return message + " Game over.", reward, True, {"rule": self.rule.description}
            self.round += 1
            self._new_round()
        return message + "\n" + self._show(), reward, done, {}
