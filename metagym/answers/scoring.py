"""From a response to a `Score`: a measure's number, or None with the cause where nothing was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from metagym.answers.extraction import Extracted, extract
from metagym.answers.judge import LLMJudge, verdict_of
from metagym.answers.measures import em, f1, golds_of, sub_em
from metagym.checks import flag
from metagym.errors import BadInput, BudgetExceeded, CacheMiss, ChatError

MEASURES: Mapping[str, Callable[[str | None, Iterable[str]], float]] = {"em": em, "f1": f1, "sub_em": sub_em}
"""The measures that need no model, by name."""
JUDGED = ("judge", "em+judge")
"""Scorers that ask a judge: always, or where the exact match fails (SSP's reward)."""
SPAM_SHARE = 4
_FATAL = (BudgetExceeded, CacheMiss)


@dataclass(frozen=True, slots=True)
class Score:
    """How right an answer is.

    Attributes:
        value: In [0, 1]; None where it could not be measured: such a score enters no mean and no success rate.
        measure: What was measured: ``em``, ``f1``, ``sub_em``, ``judge``.
        answer: The answer that was scored; None where there is none.
        cause: ``no-answer``, ``unparsed`` (the judge gave no verdict; counts as wrong), ``spam`` (divided by 4), or
            why it is unscored.
    """

    value: float | None
    measure: str
    answer: str | None
    cause: str = ""

    @property
    def scored(self) -> bool:
        """Whether there is a number."""
        return self.value is not None

    @property
    def right(self) -> bool | None:
        """Whether the answer counts as right (a value of at least 0.5); None where it is unscored."""
        return None if self.value is None else self.value >= 0.5

    def to_json(self) -> dict[str, Any]:
        """The score as a JSON object."""
        return {"value": self.value, "measure": self.measure, "answer": self.answer, "cause": self.cause}


class AnswerScorer:
    """Scores responses or answers against golden answers."""

    def __init__(self, measure: str = "em", *, judge: LLMJudge | None = None, punish_spam: bool = False) -> None:
        """Chooses the measure.

        Args:
            measure: ``em``, ``f1``, ``sub_em``, ``judge``, or ``em+judge`` (the judge is asked where EM says no).
            judge: Needed for the last two.
            punish_spam: Divide by 4 where a response holds more than 10 opening or closing answer tags (SSP).

        Raises:
            BadInput: No such measure, or a judge is missing.
        """
        if measure not in (*MEASURES, *JUDGED):
            raise BadInput(f"an answer's measure is one of {', '.join((*MEASURES, *JUDGED))}, got {measure!r}")
        if (measure in JUDGED) != (judge is not None):
            raise BadInput(f"measure {measure!r} {'needs' if measure in JUDGED else 'takes no'} judge")
        self.measure = measure
        self.judge = judge
        self.punish_spam = flag("punish_spam", punish_spam)

    def score(self, response: str | Iterable[str], golds: str | Iterable[str]) -> Score:
        """Scores a response with a measure that needs no model.

        Args:
            response: What the model wrote (see `extract`).
            golds: The golden answers.

        Raises:
            BadInput: The measure asks a judge (use `judged`), or there is no golden answer.
        """
        if self.judge is not None:
            raise BadInput(f"measure {self.measure!r} asks a model: await judged(...)")
        found = extract(response)
        return self._settle(found, Score(MEASURES[self.measure](found.answer, golds_of(golds)), self.measure, None))

    async def judged(
        self, response: str | Iterable[str], golds: str | Iterable[str], question: str, seed: int = 0
    ) -> Score:
        """Scores a response with any measure; asks the judge where there is one.

        Args:
            response: What the model wrote.
            golds: The golden answers.
            question: For the judge.
            seed: Of the judge's call.

        Raises:
            BudgetExceeded, CacheMiss: The judge may not be asked: the run has to stop. Any other failure of the judge
                gives a score without a value.
        """
        if self.judge is None:
            return self.score(response, golds)
        wanted = golds_of(golds)
        found = extract(response)
        if not found.answer:
            return self._settle(found, Score(0.0, "judge", None))
        if self.measure == "em+judge" and em(found.answer, wanted):
            return self._settle(found, Score(1.0, "em", None))
        try:
            reply = await self.judge.ask(question, wanted, found.answer, seed)
        except _FATAL:
            raise
        except ChatError as error:
            return Score(None, "judge", found.answer, f"the judge failed: {error}")
        if reply.text is None:
            return Score(None, "judge", found.answer, f"the judge gave no text ({reply.absence}): {reply.cause}")
        verdict = verdict_of(reply.text)
        score = Score(float(verdict == "right"), "judge", None, "unparsed" if verdict == "unparsed" else "")
        return self._settle(found, score)

    def _settle(self, found: Extracted, score: Score) -> Score:
        value, cause = score.value, score.cause
        if found.answer is None:
            return Score(0.0, score.measure, None, "no-answer")
        if self.punish_spam and found.spam and value:
            value, cause = value / SPAM_SHARE, "spam"
        return Score(value, score.measure, found.answer, cause)
