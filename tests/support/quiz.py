"""A toy family of sums with final answers and further scores, and models of known skill that answer them.

Registered for a test with `registered`; a task's type says how hard it is. Models are named in specs as
``python:tests.support.quiz:half`` and so on.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium

from metagym import Family, Task, TaskSet, families
from metagym.chat import Request
from metagym.evaluation.benchmarks import Benchmark, Suite, drop_suite, register_suite
from metagym.families import AnswerForm
from metagym.seeding import rng
from metagym.spaces import FreeText
from tests.support.paid import _note

COUNT = 12
FORM = AnswerForm("Answer with a number.", lambda reply, legal: (reply.text or "").strip(), "No number was found.")


class Sum(gymnasium.Env[str, str]):
    """One sum, one answer."""

    def __init__(self, task: Task, bonus: int = 0, broken: bool = False) -> None:
        self.observation_space = FreeText()
        self.action_space = FreeText()
        self.task, self.bonus, self.broken = task, bonus, broken

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        number = self.task.params["number"]
        return f"Question: what is the sum of {number} and {number + self.bonus}, please?", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.broken and self.task.params["number"] % 4 == 3:
            raise RuntimeError("the judge is down")
        right = action == str(2 * self.task.params["number"] + self.bonus)
        close = None if not action.isdigit() else abs(int(action) - 2 * self.task.params["number"])
        info = {"success": right, "final_answer": action or None, "scores": {"distance": close}}
        return "", float(right), True, False, info


def Quiz(bonus: int = 0, broken: bool = False, count: int = COUNT, path: str = "") -> Family:
    """The family; `path` stands for a place on the machine."""

    def tasks(split: str) -> TaskSet:
        start = 0 if split == "train" else 1000
        return TaskSet(
            Task("Quiz", f"{split}-{n}", ("easy", "hard")[n % 2], split, seed=n, params={"number": start + n})
            for n in range(count)
        )

    return Family(
        "Quiz",
        tasks,
        lambda task: Sum(task, bonus, broken),
        splits=("train", "test"),
        max_steps=1,
        host="thread",
        versions={"bonus": bonus, "scorer": "equal"},
        options={"bonus": bonus, "broken": broken, "count": count, "path": path},
        answer=FORM,
    )


def quiz(samples: int = 3, **options: Any) -> Suite:
    """A suite with two benchmarks, one of them left out."""
    one = Benchmark("sums", "Quiz", options, samples=samples, title="Sums")
    easy = Benchmark("easy", "Quiz", options, types=("easy",), title="Easy sums")
    return Suite("quiz", "Quiz", (one, easy), {"algebra": "nobody wrote it"})


@contextmanager
def registered() -> Iterator[None]:
    """Inside, family and suite are known."""
    families.add_factory("Quiz", Quiz)
    register_suite("quiz", quiz)
    try:
        yield
    finally:
        families.drop_factory("Quiz")
        drop_suite("quiz")


def _question(request: Request) -> tuple[int, int]:
    a, b = re.findall(r"\d+", request.messages[-1].content)[-2:]
    return int(a), int(b)


def right(request: Request) -> str:
    """Always right."""
    return str(sum(_question(request)))


def half(request: Request) -> str:
    """Right in half of its samples; else one of three wrong answers."""
    dice = rng(request.seed or 0, "half")
    a, b = _question(request)
    return str(a + b if dice.random() < 0.5 else a + b + dice.choice((1, 2, 3)))


async def late(request: Request) -> str:
    """As `half`, after a time that makes later episodes end earlier."""
    await asyncio.sleep(0.02 * rng(request.seed or 0, "late").random())
    return half(request)


async def paid(request: Request) -> str:
    """Answers the questions of the invented world with their first word, slowly, and writes down every call."""
    _note(request)
    await asyncio.sleep(float(os.environ.get("PAID_SECONDS", "0.005")))
    return f"<answer>{rng(request.seed or 0, 'paid').choice(('Vell', 'Orla', 'Ness'))}</answer>"


def dead(request: Request) -> str:
    """A model that always fails."""
    raise RuntimeError("no such model today")


def flaky(request: Request) -> str:
    """Fails on one sum, whatever the sample."""
    if _question(request)[0] == 1003:
        raise RuntimeError("an odd sum")
    return right(request)
