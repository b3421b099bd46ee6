"""Tiny scripted environments for tests: observations, rewards and ends are a fixed list."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium

from metagym import Family, Task, TaskSet
from metagym.spaces import FreeText

Step = tuple[str, float, bool, bool, dict[str, Any]]


class ListEnv(gymnasium.Env[str, str]):
    """Plays a fixed list of steps, whatever the action."""

    def __init__(self, first: str, steps: Sequence[Step], admissible: Sequence[str] | None = None) -> None:
        self.observation_space = FreeText()
        self.action_space = FreeText()
        self.first, self.steps, self.admissible = first, list(steps), admissible
        self.actions: list[str] = []

    def _info(self, info: dict[str, Any]) -> dict[str, Any]:
        return info if self.admissible is None else {**info, "admissible": tuple(self.admissible)}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.actions = []
        return self.first, self._info({})

    def step(self, action: str) -> Step:
        observation, reward, terminated, truncated, info = self.steps[len(self.actions)]
        self.actions.append(action)
        return observation, reward, terminated, truncated, self._info(info)


class GuessEnv(gymnasium.Env[str, str]):
    """The right word depends on the seed; saying it ends the episode with reward 1."""

    words = ("red", "green", "blue")

    def __init__(self) -> None:
        self.observation_space = FreeText()
        self.action_space = FreeText()
        self.right = ""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.right = self.words[(seed or 0) % 3]
        return f"Guess number {seed}.", {"admissible": self.words}

    def step(self, action: str) -> Step:
        won = action == self.right
        text = "Right." if won else "Wrong."
        return text, float(won), won, False, {"admissible": self.words, "success": won}


class FailingEnv(GuessEnv):
    """Raises in its first step."""

    def step(self, action: str) -> Step:
        raise RuntimeError("the engine broke")


class HangingEnv(GuessEnv):
    """Never returns from its first step (bounded, so that a failing test ends too)."""

    def step(self, action: str) -> Step:
        time.sleep(120)
        return super().step(action)


def tasks_named(family: str, count: int, split: str = "train", types: Sequence[str] = ("",)) -> TaskSet:
    """Tasks ``<split>-0``, ``<split>-1``, ... with seeds 0, 1, ..."""
    return TaskSet(
        (Task(family, f"{split}-{i}", types[i % len(types)], split, seed=i) for i in range(count)), f"{family}/{split}"
    )


def family_of(
    open_task: Callable[[Task], gymnasium.Env[str, str]], name: str = "Toy", count: int = 30, **fields: Any
) -> Family:
    """A family whose tasks are opened by `open_task`."""
    fields.setdefault("host", "inline")
    return Family(name, lambda split: tasks_named(name, count, split, ("a", "b")), open_task, **fields)


def guess_family(name: str = "Guess", **fields: Any) -> Family:
    """The family of `GuessEnv`."""
    return family_of(lambda task: GuessEnv(), name, **fields)
