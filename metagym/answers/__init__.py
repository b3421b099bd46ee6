"""Scoring answers: exact match, F1, sub-EM, a judge that is a language model; and finding the answer in a response.

A `Score` is a number or, where nothing could be measured, None with its cause: unscored is not wrong. Answers are
looked for in what the model itself wrote, outside its thinking; a prompt's example or a passage's tag is no answer.
"""

from metagym.answers.extraction import Extracted, extract, visible
from metagym.answers.formats import format_reward, format_valid
from metagym.answers.judge import LLMJudge, verdict_of
from metagym.answers.measures import em, f1, golds_of, normalise, sub_em
from metagym.answers.scoring import MEASURES, AnswerScorer, Score

__all__ = [
    "MEASURES",
    "AnswerScorer",
    "Extracted",
    "LLMJudge",
    "Score",
    "em",
    "extract",
    "f1",
    "format_reward",
    "format_valid",
    "golds_of",
    "normalise",
    "sub_em",
    "verdict_of",
    "visible",
]
