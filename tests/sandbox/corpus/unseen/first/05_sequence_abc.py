# seed: 3
# actions: ["12", "21", "answer: 16", "answer: 64", "35", "answer: 30"]
# expect_total: 0.25 after 6 steps
from abc import ABC, abstractmethod
from enum import Enum, auto
import random
from typing import Generic, List, TypeVar, Type, ClassVar

ObsT = TypeVar("ObsT")
ActT = TypeVar("ActT")


class BaseEnvironment(ABC, Generic[ObsT, ActT]):
    """Abstract base of all text environments."""

    def __init__(self, max_steps: int = 10) -> None:
        self._max_steps = max_steps
        self._step_count = 0
        self._rng = random.Random()

    @abstractmethod
    def _on_reset(self) -> ObsT:
        raise NotImplementedError

    @abstractmethod
    def _on_step(self, action: ActT):
        raise NotImplementedError

    def reset(self, seed: int = 0) -> ObsT:
        self._rng.seed(seed)
        self._step_count = 0
        return self._on_reset()

    def step(self, action: ActT):
        self._step_count += 1
        obs, reward, done = self._on_step(action)
        if self._step_count >= self._max_steps:
            done = True
        return obs, reward, done, {"step": self._step_count}


class Difficulty(Enum):
    EASY = auto()
    MEDIUM = auto()
    HARD = auto()


class SequenceRule(ABC):
    registry: ClassVar[List[Type["SequenceRule"]]] = []
    difficulty = Difficulty.EASY

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        SequenceRule.registry.append(cls)

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    @abstractmethod
    def generate(self, n: int) -> List[int]:
        ...

    @property
    def name(self) -> str:
        return self.__class__.__name__


class ArithmeticRule(SequenceRule):
    def generate(self, n):
        a, d = self.rng.randint(1, 9), self.rng.randint(2, 7)
        return [a + i * d for i in range(n)]


class GeometricRule(SequenceRule):
    difficulty = Difficulty.MEDIUM

    def generate(self, n):
        a, r = self.rng.randint(1, 4), self.rng.choice([2, 3])
        return [a * r**i for i in range(n)]


class FibonacciLikeRule(SequenceRule):
    difficulty = Difficulty.HARD

    def generate(self, n):
        seq = [self.rng.randint(1, 5), self.rng.randint(1, 5)]
        while len(seq) < n:
            seq.append(seq[-1] + seq[-2])
        return seq


class TriangularRule(SequenceRule):
    difficulty = Difficulty.MEDIUM

    def generate(self, n):
        k = self.rng.randint(0, 3)
        return [(i + k) * (i + k + 1) // 2 for i in range(1, n + 1)]


class SequenceEnvironment(BaseEnvironment[str, str]):
    WEIGHTS = {Difficulty.EASY: 1.0, Difficulty.MEDIUM: 1.5, Difficulty.HARD: 2.0}

    def __init__(self) -> None:
        super().__init__(max_steps=6)
        self._level = 0

    def _next_problem(self) -> str:
        rule_cls = self._rng.choice(SequenceRule.registry)
        self._rule = rule_cls(self._rng)
        seq = self._rule.generate(6)
        self._shown, self._answer = seq[:5], seq[5]
        return "Continue: " + ", ".join(map(str, self._shown)) + ", ?"

    def _on_reset(self) -> str:
        self._level = 0
        return self._next_problem()

    def _on_step(self, action: str):
        text = str(action).lower().replace("answer:", "").strip()
        if not text.lstrip("-").isdigit():
            return "Please answer with an integer.", -0.1, False
        if int(text) == self._answer:
            reward = self.WEIGHTS[self._rule.difficulty]
            self._level += 1
            feedback = "Correct!"
        else:
            reward = -0.25
            feedback = f"Wrong, it was {self._answer} ({self._rule.name}, {self._rule.difficulty.name})."
        return feedback + " " + self._next_problem(), reward, self._level >= 5
