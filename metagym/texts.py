"""The forms in which texts are compared: one rule for what makes two questions the same, whoever asks."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_WORDS = re.compile(r"[^\W_]+")


def normal(text: str) -> str:
    """The form in which texts are compared: NFKC, case folded, white space squeezed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def words(text: str) -> str:
    """A text as its words alone, each with a space before and after it."""
    return f" {' '.join(_WORDS.findall(normal(text)))} "


def question_sha256(question: str) -> str:
    """Identity of a question: SHA-256 of its words, so that spacing, case and punctuation do not make it another.

    It keeps evaluation questions out of training, so it errs towards the same: "C" and "C++" are one word. A text
    without any word is its own normal form.
    """
    form = words(question).strip() or normal(question)
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()
