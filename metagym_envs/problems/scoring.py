"""From an answer to what it is worth, by kind of benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from metagym.sandbox.scripts import VERDICTS
from metagym_envs.problems import judging, maths
from metagym_envs.problems.reading import boxed, letter
from metagym_envs.problems.rows import LETTERS, Kind, Row


@dataclass(frozen=True)
class Scored:
    """What an answer is worth.

    Attributes:
        right: Whether it counts.
        verdict: ``right`` or ``wrong``, ``timeout`` where a comparison never ended; code has those of the sandbox.
        final: The answer as majorities count it; None for code, of which no two answers are alike.
        scores: Further measures by name.
        detail: One line for people.
        told: What a second attempt may know beyond "not right"; never what was expected.
    """

    right: bool
    verdict: str
    final: str | None
    scores: Mapping[str, float | None]
    detail: str = ""
    told: str = ""


class Scorer(Protocol):
    """Judges answers of one kind of benchmark."""

    def start(self) -> str:
        """Makes sure that it can judge; tells what judges, and what confines it.

        Raises:
            MissingExtra: A package is not installed.
            SandboxUnavailable: A layer of the sandbox is missing.
        """

    def score(self, row: Row, answer: str) -> Scored:
        """Judges an answer, however hostile."""


class Maths:
    """Answers that math-verify compares."""

    def start(self) -> str:
        """See `Scorer`."""
        return f"math-verify {maths.installed()}, {_confined(maths.pool().layers)}"

    def score(self, row: Row, answer: str) -> Scored:
        """See `Scorer`; an answer that the comparison dies of is wrong."""
        found = boxed(answer)
        answer = answer.strip() if found is None else found
        compared = maths.compare(row.label, answer)
        final = compared.canonical or " ".join(answer.split()).casefold()[:200]
        verdict = "right" if compared.equal else "timeout" if compared.fault else "wrong"
        return Scored(compared.equal, verdict, final, {"unjudged": float(bool(compared.fault))}, compared.fault)


class Choice:
    """Letters."""

    def start(self) -> str:
        """See `Scorer`."""
        return "letter"

    def score(self, row: Row, answer: str) -> Scored:
        """See `Scorer`; what begins with no letter of an option is no answer."""
        found = boxed(answer)
        chosen = letter(answer if found is None else found)
        if row.choices and chosen not in LETTERS[: len(row.choices)]:
            chosen = ""
        right = bool(chosen) and chosen == row.label
        return Scored(right, "right" if right else "wrong", chosen, {"no_letter": float(not chosen)})


@dataclass(frozen=True)
class Code:
    """Programs and functions.

    Attributes:
        judge: `judging.judge_program` or `judging.judge_function`.
        seconds: Wall-clock seconds of all tests of an answer.
    """

    judge: Callable[[Row, str, float], judging.Judgement]
    seconds: float

    def start(self) -> str:
        """See `Scorer`."""
        return f"sandbox, {_confined(judging.pool().layers)}"

    def score(self, row: Row, answer: str) -> Scored:
        """See `Scorer`."""
        found = self.judge(row, answer, self.seconds)
        scores: dict[str, float | None] = {name: float(found.verdict == name) for name in VERDICTS[1:]}
        detail = ": ".join(part for part in (found.place, found.detail) if part)
        told = f"{found.place}: {_WORDS[found.verdict]}." if found.place else ""
        return Scored(found.verdict == "passed", found.verdict, None, scores, detail, told)


_WORDS = {
    "wrong": "not the right result",
    "timeout": "it took too long",
    "error": "an error",
    "killed": "it was ended, for what it used or tried to do",
}


def scorer(kind: Kind, seconds: float) -> Scorer:
    """What judges a kind of benchmark."""
    if kind == "math":
        return Maths()
    if kind == "choice":
        return Choice()
    return Code(judging.judge_program if kind == "program" else judging.judge_function, seconds)


def _confined(layers: tuple[str, ...]) -> str:
    return f"confined by {', '.join(layers)}"
