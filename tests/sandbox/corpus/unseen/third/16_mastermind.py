# seed: 3
# actions: ["XXYZ", "r r g g", "GBBB", "GBYY", "GYBY"]
# expect_total: 1.6 after 5 steps
"""Mastermind: deduce a hidden four-colour code from black/white peg feedback."""
from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Optional

COLOURS = "RGBYOP"
CODE_LENGTH = 4
MAX_GUESSES = 10


@dataclass(frozen=True)
class Feedback:
    black: int
    white: int

    @property
    def solved(self) -> bool:
        return self.black == CODE_LENGTH

    def __str__(self) -> str:
        return f"{self.black} black, {self.white} white"


@dataclass
class GameState:
    code: str
    history: list[tuple[str, Feedback]] = field(default_factory=list)
    invalid: int = 0

    @property
    def guesses_left(self) -> int:
        return MAX_GUESSES - len(self.history) - self.invalid


def score(code: str, guess: str) -> Feedback:
    black = sum(c == g for c, g in zip(code, guess))
    common = sum((Counter(code) & Counter(guess)).values())
    return Feedback(black, common - black)


class Env:
    """The agent guesses codes such as ``RGBY``.

    A consistent guess (one that could still be the code given all feedback)
    earns a small bonus, so logical deduction is rewarded densely.
    """

    def __init__(self) -> None:
        self.state: Optional[GameState] = None
        self.done = True

    def reset(self, seed: Optional[int] = None) -> tuple[str, dict]:
        rng = random.Random(seed)
        code = "".join(rng.choices(COLOURS, k=CODE_LENGTH))
        self.state = GameState(code=code)
        self.done = False
        return self._render(), {"guesses_left": self.state.guesses_left}

    def _render(self) -> str:
        assert self.state is not None
        lines = [
            "MASTERMIND",
            f"Colours: {', '.join(COLOURS)}. Code length: {CODE_LENGTH}. Repeats are allowed.",
            f"Guesses left: {self.state.guesses_left}",
        ]
        for i, (guess, fb) in enumerate(self.state.history, start=1):
            lines.append(f"{i:>2}. {' '.join(guess)}  ->  {fb}")
        if not self.state.history:
            lines.append("(no guesses yet)")
        return "\n".join(lines)

    def _is_consistent(self, guess: str) -> bool:
        return all(score(guess, old) == fb for old, fb in self.state.history)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict]:
        if self.done or self.state is None:
            raise RuntimeError("step() called on a finished episode; call reset() first")

        guess = "".join(ch for ch in action.upper() if ch.isalpha())
        if len(guess) != CODE_LENGTH or not set(guess) <= set(COLOURS):
            self.state.invalid += 1
            truncated = self.state.guesses_left <= 0
            self.done = truncated
            msg = f"Invalid guess {action!r}.\n" + self._render()
            return msg, -0.1, False, truncated, {"error": "invalid_guess"}

        consistent = self._is_consistent(guess)
        fb = score(self.state.code, guess)
        self.state.history.append((guess, fb))

        reward = 0.05 if consistent else -0.05
        terminated = False
        if fb.solved:
            reward += 1.0 + 0.1 * self.state.guesses_left
            terminated = True
        truncated = not terminated and self.state.guesses_left <= 0
        self.done = terminated or truncated

        obs = self._render()
        if terminated:
            obs += "\nYou cracked the code!"
        elif truncated:
            obs += f"\nOut of guesses. The code was {self.state.code}."
        info = {"consistent": consistent, "black": fb.black, "white": fb.white}
        return obs, reward, terminated, truncated, info
