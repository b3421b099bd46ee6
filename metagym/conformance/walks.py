"""Playing a family's environments by fixed rules, so that two plays can be compared step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium

from metagym.conformance.findings import Fault
from metagym.families import Family
from metagym.playing.hosts import checked_reset, checked_step
from metagym.seeding import rng
from metagym.tasks import Task

PHRASES = ("look", "help", "0", "1", "2", "go north", "north", "wait", "open door", '{"action": 0}')
"""What is tried where an environment lists no legal actions."""

NONSENSE = (
    "xyzzy",
    "%s {0} {self.__class__}",
    "<script>alert(1)</script>",
    "Écris « {oui} » — 鍵 🗝️",
    "look " * 1_000,
    "-1",
    "999999999999999999999999",
    "nan",
    "null",
    "[" * 200,
)
"""Commands that mean nothing anywhere; models write all of them."""


@dataclass(frozen=True)
class Step:
    """What an environment said: at the reset (action None) or after an action."""

    action: str | None
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    success: Any
    admissible: tuple[Any, ...] | None

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


@dataclass(frozen=True)
class Subject:
    """What is checked.

    Attributes:
        name: The family as it is registered.
        family: The family.
        options: Its options, as they are handed to ``gymnasium.make``.
        plain: Id of the plain task environment.
        ict: Id of the meta-environment.
        tasks: The tasks that are played, of the first split.
        steps: Steps of a walk.
    """

    name: str
    family: Family
    options: Mapping[str, Any]
    plain: str
    ict: str
    tasks: tuple[Task, ...]
    steps: int


@contextmanager
def opened(family: Family, task: Task) -> Iterator[gymnasium.Env[str, str]]:
    """The environment of a task, closed at the end."""
    env = family.open(task)
    try:
        yield env
    finally:
        env.close()


class Walk:
    """One play that a caller takes step by step; what it tries depends on path and step alone.

    Args:
        env: The environment.
        task: The task.
        family: Whose success predicate is asked.
        path: Walks of different paths try different things.
    """

    def __init__(self, env: gymnasium.Env[str, str], task: Task, family: Family, path: int = 0) -> None:
        self.env, self.task, self.family, self.path = env, task, family, path
        self.steps: list[Step] = []
        self._return = 0.0
        observation, info = checked_reset(task, env.reset(seed=task.seed))
        self._keep(None, observation, 0.0, False, False, info)

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.steps[-1].done

    def step(self) -> None:
        """Takes the next step of the walk."""
        legal = self.steps[-1].admissible
        choices: Sequence[Any] = PHRASES if not legal else legal
        self.take(rng(0, "conformance", self.path, len(self.steps)).choice(choices))

    def take(self, action: str) -> None:
        """Takes an action."""
        self._keep(action, *checked_step(self.task, self.env.step(action)))

    def _keep(
        self,
        action: str | None,
        observation: str,
        reward: float,
        terminated: bool,
        truncated: bool,
        info: Mapping[str, Any],
    ) -> None:
        self._return += reward
        legal = info.get("admissible")
        admissible = tuple(legal) if isinstance(legal, (list, tuple)) else None
        if legal is not None and admissible is None:
            raise Fault(
                f"task {self.task.key}: info['admissible'] is of type {type(legal).__name__}: make it a tuple of texts"
            )
        success = self.family.success(info, self._return, terminated)
        self.steps.append(Step(action, observation, reward, terminated, truncated, success, admissible))

    def on(self, steps: int) -> list[Step]:
        """Walks on, to `steps` steps in all or to the end."""
        while not self.done and len(self.steps) <= steps:
            self.step()
        return self.steps


def walked(subject: Subject, task: Task, steps: int | None = None, path: int = 0) -> list[Step]:
    """A walk in an environment of its own."""
    with opened(subject.family, task) as env:
        return Walk(env, task, subject.family, path).on(subject.steps if steps is None else steps)


def difference(one: Sequence[Step], other: Sequence[Step]) -> str:
    """Where two walks part, e.g. ``"step 3 (observation)"``; "" where they are equal."""
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        for name in Step.__dataclass_fields__:
            if getattr(left, name) != getattr(right, name):
                return f"{f'step {number}' if number else 'the reset'} ({name})"
    return "" if len(one) == len(other) else f"step {min(len(one), len(other))} (the end)"
