"""The Reasoning family: Reasoning Gym's data sets as tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from metagym.answers import extract
from metagym.episodes import Repair
from metagym.errors import BadInput
from metagym.families import AnswerForm, Cleaned, Family
from metagym.tasks import Task, TaskSet
from metagym_envs.reasoning.data import FAMILY, SPLITS, Selection, item, select, task_set
from metagym_envs.reasoning.env import ReasoningQuestion
from metagym_envs.reasoning.hard import EVALUATION_SIZE

INSTRUCTIONS = "You are given a question whose answer a program checks."
ASK = "Think first if you like, then give the final answer, and nothing else, between <answer> and </answer>."
ABSENT = "Your reply held no complete <answer>...</answer>, so no answer was taken."


def clean(command: str, admissible: Sequence[str] | None) -> Cleaned:
    """An answer is sent as it is, over several lines where it has them, without blanks around it."""
    text = command.strip()
    return Cleaned(text, Repair.ABSENT if not text else Repair.EXACT if text == command else Repair.REPAIRED)


def _read(reply: Any, admissible: Sequence[str] | None) -> str:
    return "" if reply.text is None else extract(reply.text).answer or ""


FORM = AnswerForm(ASK, _read, ABSENT)
"""How actors answer."""


def Reasoning(
    group: str | None = None,
    datasets: Iterable[str] | None = None,
    level: str = "hard",
    params: Mapping[str, Any] | None = None,
    size: int = EVALUATION_SIZE,
    turns: int = 1,
) -> Family:
    """Questions of Reasoning Gym, one task type per data set.

    Args:
        group: ``"Math"`` (31 data sets), ``"Algorithmic"`` (36), ``"Cognition"`` (24) or ``"Logic"`` (9); without it
            and `datasets` all 100.
        datasets: Names of data sets instead.
        level: ``"hard"``: the configurations of the paper's evaluation; ``"default"``: the library's own.
        params: Settings by data set that win over the level's: ``{"chain_sum": {"min_terms": 5}}``.
        size: Questions per data set and split; 50 are the paper's. The split ``test`` holds the very questions of the
            project's evaluation files (seed 45).
        turns: Attempts at a question, 1 or 2.

    Returns:
        The family.

    Raises:
        BadInput: A setting is not usable.
        MissingExtra: Reasoning Gym is not installed.
    """
    if turns not in (1, 2) or isinstance(turns, bool):
        raise BadInput(f"a reasoning question gives 1 or 2 turns, got {turns!r}")
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= 1_000_000:
        raise BadInput(f"size is a number of questions from 1 to 1,000,000, got {size!r}")
    selection = select(group, datasets, level, params)
    return Family(
        name=FAMILY,
        tasks=_Tasks(selection, size),
        open=_Opener(selection, size, turns),
        splits=SPLITS,
        clean=clean,
        instructions=INSTRUCTIONS,
        max_steps=turns,
        host="thread",  # SymPy and some generators take seconds; what scorers compute is bounded
        versions={"reasoning-gym": version("reasoning-gym"), "level": level},
        options={
            "group": group,
            "datasets": None if datasets is None else list(selection.names),
            "level": level,
            "params": dict(params) if params else None,
            "size": size,
            "turns": turns,
        },
        answer=FORM,
    )


@dataclass(frozen=True)
class _Tasks:
    selection: Selection
    size: int

    def __call__(self, split: str) -> TaskSet:
        return task_set(self.selection, split, self.size)


@dataclass(frozen=True)
class _Opener:
    selection: Selection
    size: int
    turns: int

    def __call__(self, task: Task) -> ReasoningQuestion:
        return ReasoningQuestion(item(self.selection, task, self.size), task.type, self.turns)
