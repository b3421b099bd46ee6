# seed: 11
# actions: ["add 3", "mul 2", "submit", "add 5", "neg", "hint", "submit", "bogus", "add 1", "submit"]
# expect_total: -0.78 after 10 steps
"""Modular arithmetic combination lock environment."""
from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Final

PRIMES: Final[tuple[int, ...]] = (17, 19, 23, 29, 31)
MAX_TURNS: Final[int] = 20


@dataclass(slots=True)
class LockState:
    """Mutable state of one episode."""

    modulus: int
    target: int
    value: int
    turns: int = 0
    attempts: int = 0
    history: list[str] = field(default_factory=list)

    @property
    def distance(self) -> int:
        """Circular distance between the dial and the target."""
        d = abs(self.value - self.target) % self.modulus
        return min(d, self.modulus - d)


class ModularLockEnv:
    """The agent turns a dial in Z/pZ until it hits a hidden target.

    Actions (strings):
        add K   - value += K (mod p)
        mul K   - value *= K (mod p)
        neg     - value = -value (mod p)
        hint    - reveals whether the target is a quadratic residue (costs 0.1)
        submit  - tries the current value
    """

    def __init__(self) -> None:
        self._rng = random.Random()
        self._state: LockState | None = None

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        self._rng = random.Random(seed)
        p = self._rng.choice(PRIMES)
        target = self._rng.randrange(1, p)
        start = self._rng.randrange(p)
        while start == target:
            start = self._rng.randrange(p)
        self._state = LockState(modulus=p, target=target, value=start)
        return self._observe("The lock clicks and resets."), {"modulus": p}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        s = self._state
        if s is None:
            raise RuntimeError("reset() must be called before step()")
        s.turns += 1
        before = s.distance
        s.history.append(action)
        reward = 0.0
        terminated = False
        match action.strip().lower().split():
            case ["add", k] if k.lstrip("-").isdigit():
                s.value = (s.value + int(k)) % s.modulus
                msg = f"You add {k}."
            case ["mul", k] if k.lstrip("-").isdigit():
                s.value = (s.value * int(k)) % s.modulus
                msg = f"You multiply by {k}."
            case ["neg"]:
                s.value = -s.value % s.modulus
                msg = "You flip the dial."
            case ["hint"]:
                residue = pow(s.target, (s.modulus - 1) // 2, s.modulus) == 1
                msg = f"The target is {'a' if residue else 'not a'} quadratic residue."
                reward -= 0.1
            case ["submit"]:
                s.attempts += 1
                if s.value == s.target:
                    terminated, reward = True, 1.0
                    msg = "The lock opens!"
                else:
                    reward -= 0.2
                    msg = "Nothing happens. " + ("Warm." if s.distance <= 3 else "Cold.")
            case _:
                msg = f"Unknown action: {action!r}"
                reward -= 0.05
        reward += 0.01 * (before - s.distance)
        truncated = not terminated and s.turns >= MAX_TURNS
        return self._observe(msg), reward, terminated, truncated, {"attempts": s.attempts}

    def _observe(self, msg: str) -> str:
        assert self._state is not None
        s = self._state
        return f"{msg}\nDial: {s.value} (mod {s.modulus})  Turn {s.turns}/{MAX_TURNS}"
