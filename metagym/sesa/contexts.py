"""What each seat may know: the challenger's context and the solver's, as plain data.

Isolation is made of types, not of care: a `ChallengerContext` holds texts and numbers alone, so that nothing in it
leads to a bank, and its prompt is made of nothing else. What the challenger learns about the solver is one number
(the success rate); that this is a channel too is the point of self-play. A `SolverContext` holds no answer.

The switch ``challenger_sees_memory`` puts a block of skills into the challenger's context as text: an ablation, and the
proof that the scan for leaks finds one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from metagym.answers import golds_of
from metagym.checks import flag, number, settle, whole
from metagym.errors import BadInput
from metagym.sesa.retrieval import SkillBlock

MAX_HOPS = 8
"""Most facts that a question may chain; MuSiQue has 2 to 4."""


@dataclass(frozen=True)
class Seed:
    """What a challenge starts from.

    Attributes:
        answers: The answer in all of its forms; the first is the one that the challenger is told.
        hops: How many facts the question is to chain, in 1..8.
    """

    answers: tuple[str, ...]
    hops: int = 2

    def __post_init__(self) -> None:
        """Takes a single text as the one answer; never splits it at commas."""
        object.__setattr__(self, "answers", tuple(" ".join(gold.split()) for gold in golds_of(self.answers)))
        settle(self, "hops", whole, 1)
        if self.hops > MAX_HOPS:
            raise BadInput(f"hops is at most {MAX_HOPS}, got {self.hops}")

    @property
    def answer(self) -> str:
        """The form that the challenger is told."""
        return self.answers[0]


@dataclass(frozen=True)
class ChallengerContext:
    """All that the challenger's prompt is made of.

    Attributes:
        answer: The seed answer.
        hops: How many facts the question is to chain.
        success: Mean success rate of the solver on the challenger's recent questions, in [0, 1]; None before the first.
        example: A question as an example; "" for none.
        memory: Skills as text; "" but under the ablation ``challenger_sees_memory``.
    """

    answer: str
    hops: int
    success: float | None = None
    example: str = ""
    memory: str = ""

    def __post_init__(self) -> None:
        """Plain texts and numbers only: a subclass could carry more than its value."""
        for name in ("answer", "example", "memory"):
            if type(getattr(self, name)) is not str:
                raise BadInput(
                    f"{name} of a challenger's context is plain text, got {type(getattr(self, name)).__name__}"
                )
        settle(self, "hops", whole, 1)
        settle(self, "success", number, 0.0, 1.0, none=True)

    def to_json(self) -> dict[str, Any]:
        """The context as a JSON object."""
        return {
            "answer": self.answer,
            "hops": self.hops,
            "success": self.success,
            "example": self.example,
            "memory": self.memory,
        }


@dataclass(frozen=True)
class SolverContext:
    """All that the solver's prompt is made of; the answer is not among it.

    Attributes:
        question: The question.
        skills: The block of skills that was retrieved for it; empty without a bank.
    """

    question: str
    skills: SkillBlock = SkillBlock()

    def __post_init__(self) -> None:
        """A question is text."""
        if not isinstance(self.question, str) or not self.question.strip():
            raise BadInput("a question is non-empty text")


def challenger_context(
    seed: Seed,
    success: float | None = None,
    *,
    example: str = "",
    memory: Callable[[str], str] | None = None,
    challenger_sees_memory: bool = False,
) -> ChallengerContext:
    """The context of one challenge.

    Args:
        seed: Answer and hops.
        success: See `ChallengerContext`.
        example: A question as an example.
        memory: Answer in, block of skills out; called only under the switch.
        challenger_sees_memory: The ablation. Never set it outside of one: it lets skills into the challenger's prompts.

    Raises:
        BadInput: The switch is on and there is no memory to see.
    """
    text = ""
    if flag("challenger_sees_memory", challenger_sees_memory):
        if memory is None:
            raise BadInput("challenger_sees_memory is on, and no memory was handed in")
        text = str(memory(seed.answer))
    return ChallengerContext(seed.answer, seed.hops, success, example, text)
