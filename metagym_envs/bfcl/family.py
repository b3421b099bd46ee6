"""The BFCL family: conversations with tools, how actors answer, the scripted stand-ins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from metagym.errors import BadInput
from metagym.families import Family
from metagym.tasks import Task, TaskSet
from metagym_envs.bfcl import data, package, text
from metagym_envs.bfcl.env import ToolConversation
from metagym_envs.bfcl.known_defects import DEFECTS, known_data

STAND_INS = ("oracle", "noop")
UNOFFICIAL = ("turn_validity", "abstention")
"""Scores that the leaderboard does not know."""

MAX_STEPS = 8 * 21
"""The longest conversation has 8 turns; a turn has at most 20 replies with calls and the one that ends it."""


def BFCL(categories: Iterable[str] | None = None, stand_in: str = "oracle") -> Family:
    """The four multi-turn categories of the Berkeley Function Calling Leaderboard, 200 conversations each.

    Args:
        categories: Only these; None means all: ``multi_turn_base``, ``multi_turn_miss_func``,
            ``multi_turn_miss_param``, ``multi_turn_long_context``. They are the task types too.
        stand_in: What the scripted actor ``rules`` does: ``"oracle"`` plays the benchmark's own answers, ``"noop"``
            calls nothing. Both are there to check the scoring, and know nothing of language.

    Returns:
        The family. Its one split is ``test``: the benchmark has no training data.

    Raises:
        BadInput: A setting is not usable.
        MissingExtra: bfcl-eval is not installed.
    """
    if stand_in not in STAND_INS:
        raise BadInput(f"the stand-in of BFCL is {' or '.join(map(repr, STAND_INS))}, got {stand_in!r}")
    names = data.check_categories(categories)
    opener = _Opener()
    return Family(
        name=data.FAMILY,
        tasks=_Tasks(names),
        open=opener,
        splits=(data.SPLIT,),
        clean=text.clean,
        instructions=text.INSTRUCTIONS,
        max_steps=MAX_STEPS,
        identity=_scenario,
        host="thread",
        stand_ins={"actor": _Actor(names, stand_in)},
        versions={
            "bfcl-eval": package.release(),
            "data_digest": data.digest(),
            "mpmath": version("mpmath"),
            "scorer": "bfcl_eval multi_turn_checker",
            "known_defects": len(DEFECTS) if known_data() else None,
            "unofficial_scores": list(UNOFFICIAL),
        },
        options={"categories": list(names), "stand_in": stand_in},
        answer=text.FORM,
    )


@dataclass(frozen=True)
class _Tasks:
    categories: tuple[str, ...]

    def __call__(self, split: str) -> TaskSet:
        return data.task_set(self.categories)


@dataclass(frozen=True)
class _Opener:
    def __call__(self, task: Task) -> ToolConversation:
        return ToolConversation(data.entry(task))


def _scenario(task: Task) -> str:
    """Tasks of one number share their story and most of their answer: who has seen one has seen the others."""
    return f"{data.FAMILY}/{data.entry(task).scenario}"


@dataclass(frozen=True)
class _Actor:
    categories: tuple[str, ...]
    name: str

    def __call__(self, seed: int) -> Any:
        from metagym_envs.bfcl import rules

        return rules.actor(self.name, self.categories, seed)
