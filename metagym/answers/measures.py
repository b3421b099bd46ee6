"""Comparing an answer with the golden ones: SQuAD's normal form, exact match, sub-EM and token F1.

The normal form is the one that SQuAD's evaluation made common and Search-R1, SSP and SkillRL share: lower case, ASCII
punctuation dropped, the articles a, an, the dropped, blanks folded. Nothing else is folded, as in the reference:
accents, dashes other than ``-`` and full-width signs stay different.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable
from typing import Any

from metagym.checks import shown
from metagym.errors import BadInput

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_CLOSED = frozenset(("yes", "no", "noanswer"))
"""Answers that share no token with any other by accident (HotpotQA's evaluation)."""


def normalise(text: str) -> str:
    """SQuAD's normal form of a text."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def golds_of(value: Any) -> tuple[str, ...]:
    """The golden answers as texts; one text is one answer, and is never split (answers hold commas).

    Raises:
        BadInput: There is none, or one is no text or blank.
    """
    found = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else ()
    if not found or not all(isinstance(gold, str) and gold.strip() for gold in found):
        raise BadInput(f"golden answers are a text or a non-empty list of texts, got {shown(value)}")
    return found


def em(answer: str | None, golds: str | Iterable[str]) -> float:
    """1.0 where the normal form of the answer is that of a golden one, else 0.0.

    Two answers of articles and punctuation alone ("The The", "?") have an empty normal form; they are compared as
    they stand, without case. No answer equals nothing.
    """
    if answer is None:
        return 0.0
    found = normalise(answer)
    return float(any(found == normalise(gold) if found else _bare(answer) == _bare(gold) for gold in golds_of(golds)))


def sub_em(answer: str | None, golds: str | Iterable[str]) -> float:
    """1.0 where the normal form of a golden answer stands inside the answer's, else 0.0.

    As in the reference a part of a word counts ("art" in "party"); a golden answer whose normal form is empty is
    inside none but an equal one.
    """
    if answer is None:
        return 0.0
    found = normalise(answer)
    for gold in golds_of(golds):
        wanted = normalise(gold)
        if (wanted and wanted in found) or (not wanted and _bare(gold) == _bare(answer)):
            return 1.0
    return 0.0


def f1(answer: str | None, golds: str | Iterable[str]) -> float:
    """The best token F1 with a golden answer, in [0, 1]; rounded to two places as SSP prints it, nowhere else.

    Where one side is "yes", "no" or "noanswer" and the other is not, it is 0 (HotpotQA's evaluation).
    """
    if answer is None:
        return 0.0
    return max(_f1(normalise(answer), normalise(gold)) for gold in golds_of(golds))


def _f1(found: str, wanted: str) -> float:
    if found != wanted and (found in _CLOSED or wanted in _CLOSED):
        return 0.0
    ours, theirs = found.split(), wanted.split()
    common = sum((Counter(ours) & Counter(theirs)).values())
    if not common:
        return 0.0
    return 2 * common / (len(ours) + len(theirs))


def _bare(text: str) -> str:
    return " ".join(text.lower().split())
