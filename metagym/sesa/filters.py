"""Which questions of a challenger count: checks of the text and the searches, in SSP's order, each refusal by name.

What is refused gets the penalty, never enters a success rate and never becomes a card. Everything fails closed: what
cannot be checked is refused, and counted by its reason (`metagym.sesa.verification` holds the last check, which asks a
model).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from metagym.answers import golds_of
from metagym.checks import flag, settle, whole
from metagym.errors import BadInput
from metagym.sesa.cards import normal, question_sha256, words

Code = Literal[
    "no-question",
    "too-short",
    "too-long",
    "few-words",
    "degenerate",
    "answer-in-question",
    "held-out",
    "no-information",
    "few-searches",
    "repeated-search",
    "answer-in-search",
    "verify-wrong",
    "verify-silent",
    "verify-failed",
]

_SHORT = 4
"""Answers of fewer characters are looked for as words: "us" stands in "famous"."""


@dataclass(frozen=True)
class FilterSettings:
    """Limits on questions; the defaults are SSP's released ones.

    Attributes:
        min_chars: Fewest characters of a question.
        max_chars: Most characters.
        min_words: Fewest words between spaces.
        min_searches: Fewest searches of the challenger; SSP asks for more than one.
        answer_in_search: Whether a search of the challenger may hold the answer; SSP's released script allows it.
        verify: Ask a judge model to answer from the challenger's passages (RAG verification).
        noise: How many sets of passages of other questions are mixed in for that.
    """

    min_chars: int = 10
    max_chars: int = 1000
    min_words: int = 10
    min_searches: int = 2
    answer_in_search: bool = True
    verify: bool = True
    noise: int = 4

    def __post_init__(self) -> None:
        """Checks the limits."""
        for name, least in (("min_chars", 0), ("max_chars", 1), ("min_words", 0), ("min_searches", 0), ("noise", 0)):
            settle(self, name, whole, least)
        for name in ("answer_in_search", "verify"):
            settle(self, name, flag)
        if self.min_chars > self.max_chars:
            raise BadInput(f"min_chars is {self.min_chars} and max_chars {self.max_chars}: no question would pass")


@dataclass(frozen=True)
class Rejected:
    """Why a question does not count.

    Attributes:
        code: For counting.
        reason: One sentence for the challenger and for people.
    """

    code: Code
    reason: str


def question_rejected(
    question: str | None,
    answers: str | Iterable[str],
    searches: Sequence[str],
    settings: FilterSettings | None = None,
    held_out: Collection[str] = (),
) -> Rejected | None:
    """Checks a question and the searches that led to it; None where all is well.

    Args:
        question: What the challenger asked; None where its reply held no question.
        answers: The seed answer, or all of its forms.
        searches: The challenger's search queries, in order.
        settings: The limits.
        held_out: `metagym.texts.question_sha256` of questions that are kept for evaluation.

    Raises:
        BadInput: There is no usable answer.
    """
    limits, golds = settings or FilterSettings(), golds_of(answers)
    if question is None or not question.strip():
        return Rejected("no-question", "the reply holds no text between <question> and </question>")
    question = question.strip()
    if len(question) < limits.min_chars:
        return Rejected(
            "too-short", f"the question has {len(question)} characters, at least {limits.min_chars} are asked"
        )
    if len(question) > limits.max_chars:
        return Rejected(
            "too-long", f"the question has {len(question)} characters, at most {limits.max_chars} are allowed"
        )
    if (count := len(question.split())) < limits.min_words:
        return Rejected("few-words", f"the question has {count} words, at least {limits.min_words} are asked")
    if degenerate(question):
        return Rejected("degenerate", "the question is no sentence: it repeats itself or holds hardly any letters")
    if answer := _held(golds, [question]):
        return Rejected("answer-in-question", f"the question holds its own answer {answer!r}")
    if question_sha256(question) in held_out:
        return Rejected("held-out", "the question is one of those that are kept for evaluation")
    return _searches_rejected(golds, searches, limits)


def _searches_rejected(golds: Sequence[str], searches: Sequence[str], limits: FilterSettings) -> Rejected | None:
    if limits.min_searches and not searches:
        return Rejected("no-information", "nothing was searched for before the question was asked")
    if len(searches) < limits.min_searches:
        return Rejected("few-searches", f"searches made: {len(searches)}; at least {limits.min_searches} are asked")
    seen: set[str] = set()
    for query in searches:
        form = words(query)
        if form in seen:
            return Rejected("repeated-search", f"the search {query!r:.80} was made twice")
        seen.add(form)
    if not limits.answer_in_search and (answer := _held(golds, searches)):
        return Rejected("answer-in-search", f"a search holds the answer {answer!r}")
    return None


def _held(golds: Sequence[str], texts: Sequence[str]) -> str:
    """The first answer that stands in one of the texts; "" for none."""
    for gold in golds:
        plain = words(gold)
        for text in texts:
            if (plain.strip() and plain in words(text)) or (len(gold) >= _SHORT and normal(gold) in normal(text)):
                return gold
    return ""


def degenerate(text: str) -> bool:
    """Whether a text is what collapsed models write: no letters to speak of, one character or a few words for ever.

    EvolveR looks for "!!!!!"; the limits here are ours: less than a third of letters and digits, a run of more than 8
    equal characters, or, from 12 words on, fewer than a quarter of them different.
    """
    packed = "".join(text.split())
    if not packed or 3 * sum(char.isalnum() for char in packed) < len(packed):
        return True
    run, last = 0, ""
    for char in packed:
        run, last = (run + 1 if char == last else 1), char
        if run > 8 and char not in "0123456789":
            return True
    tokens = words(text).split()
    return len(tokens) >= 12 and 4 * len(set(tokens)) < len(tokens)
