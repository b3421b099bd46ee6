"""From text to words: the one rule by which passages are indexed and queries are built, for every back end.

No query language is ever written from a question: quotes, ``-``, ``:``, ``^`` and the like mean nothing here (raw
questions break the query parsers of common engines in a quarter of the cases).
"""

from __future__ import annotations

import re
import unicodedata

WORDS_VERSION = 1
"""Version of the rule; stored with every index on disk, so that a changed rule rebuilds it."""
LONGEST_WORD = 64
"""Characters of a word that count."""
QUERY_WORDS = 64
"""Distinct words of a query that count; questions have about 20."""

_WORD = re.compile(r"[^\W_]+")

STOP_WORDS = frozenset(
    (
        "a about after all also am an and any are as at be because been before being between both but by can could d "
        "did do does doing during each for from further had has have having he her here hers him his how i if in into "
        "is it its just ll m me more most my no nor not now of off on once only or other our out over own re s same "
        "she should so some such t than that the their them then there these they this those through to too under "
        "until up ve very was we were what when where which while who whom whose why will with would you your"
    ).split()
)
"""Frequent English words that tell nothing about a passage; left out of queries, kept in indexes."""


def words(text: str) -> list[str]:
    """The words of a text in order: runs of letters and digits, compatibility-folded and case-folded.

    Args:
        text: Anything, lone surrogates and control characters included. Scripts without blanks between words give one
            word per run, which finds equal runs only.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [word[:LONGEST_WORD] for word in _WORD.findall(folded)]


def query_words(query: str) -> tuple[str, ...]:
    """The words to search for: each once, in order, without stop words unless there is nothing else."""
    found = dict.fromkeys(words(query))
    telling = [word for word in found if word not in STOP_WORDS]
    return tuple((telling or list(found))[:QUERY_WORDS])
