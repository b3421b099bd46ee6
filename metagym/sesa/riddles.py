"""Questions that scripted stand-ins ask and answer: clues in quotes, chained by letters, over any corpus.

A clue is a sentence of a passage with the passage's own title blanked out. A chain of n facts names each entity by a
clue, and each clue but the last mentions the next entity by a letter:

    Which entry is the one of which it is written "... was taught by X1" where X1 is the entry of which it is written
    "... was born in Cordalen"?

Whoever takes the chain apart needs one search per clue; whoever searches for the question as it stands must have luck.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from metagym.search import Passage, words

BLANK = "..."
"""Stands for the title in its own clue."""

_CLUE = re.compile(r'it is written "([^"]+)"')
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_MOST = 200
"""Most characters of a clue; longer sentences are passed over."""


@dataclass(frozen=True)
class Riddle:
    """A question with its clues, outermost first.

    Attributes:
        question: The question.
        answer: The title that it asks for.
        clues: One per fact.
        path: Titles of the passages that the clues come from, the answer first.
    """

    question: str
    answer: str
    clues: tuple[str, ...]
    path: tuple[str, ...]


def written(clues: Sequence[str]) -> str:
    """The question of a chain of clues."""
    parts = [f'Which entry is the one of which it is written "{clues[0]}"']
    parts += [f'where X{at} is the entry of which it is written "{clue}"' for at, clue in enumerate(clues[1:], 1)]
    return " ".join(parts) + "?"


def clues_in(question: str) -> tuple[str, ...]:
    """The clues of a question, outermost first; () for a question of another kind."""
    return tuple(_CLUE.findall(question))


def sentences(passage: Passage) -> list[str]:
    """The sentences of a passage in which its title stands, with the title blanked out."""
    title, out = passage.plain_title, []
    for sentence in _SENTENCE.split(passage.text.replace('"', "'")):
        if title in sentence and len(sentence) <= _MOST:
            blanked = " ".join(sentence.rstrip(".!? ").replace(title, BLANK).split())
            if len(words(blanked)) >= 3:
                out.append(blanked)
    return out


def named_by(clue: str, passages: Iterable[Passage]) -> str:
    """The title of the first passage of which a clue is true; "" where it fits none."""
    for passage in passages:
        if clue in sentences(passage):
            return passage.plain_title
    return ""


def unravel(clues: Sequence[str], passages: Sequence[Passage]) -> tuple[str, str]:
    """Follows a chain through passages, innermost clue first.

    Returns:
        The answer ("" where a passage is missing), and the clue that could not be followed with its letter filled in
        ("" where all could).
    """
    name = ""
    for at in range(len(clues) - 1, -1, -1):
        clue = clues[at].replace(f"X{at + 1}", name) if name else clues[at]
        name = named_by(clue, passages)
        if not name:
            return "", clue
    return name, ""


class Riddler:
    """Makes riddles over a corpus.

    Args:
        passages: The corpus.
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = {passage.plain_title: passage for passage in passages if len(passage.plain_title) >= 4}

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles that can be asked for, in order: seed answers for a challenger."""
        return tuple(sorted(title for title, clues in self._clues.items() if clues))

    @cached_property
    def _clues(self) -> dict[str, tuple[str, ...]]:
        """Title -> clues that fit no other title."""
        owners: dict[str, set[str]] = {}
        for title, passage in self.passages.items():
            for clue in sentences(passage):
                owners.setdefault(clue, set()).add(title)
        return {
            title: tuple(clue for clue in sentences(passage) if owners[clue] == {title})
            for title, passage in self.passages.items()
        }

    def riddle(self, answer: str, hops: int, seed: random.Random) -> Riddle | None:
        """A riddle on an answer with as many facts as can be chained, at most `hops`; None where there is no clue.

        Args:
            answer: A title.
            hops: Facts asked for.
            seed: Draws among the clues.
        """
        if answer not in self.passages:
            return None
        path, clues, at = [answer], [], answer
        for hop in range(hops):
            found = list(self._clues[at])
            if not found:
                break
            seed.shuffle(found)
            links = [(clue, name) for clue in found for name in self._mentioned(clue) if name not in path]
            if hop + 1 < hops and (linked := [pair for pair in links if self._clues[pair[1]]]):
                clue, name = linked[0]
                clues.append(clue.replace(name, f"X{hop + 1}"))
                path.append(name)
                at = name
                continue
            clues.append(found[0])
            break
        if not clues or len(clues) != len(path):
            return None
        return Riddle(written(clues), answer, tuple(clues), tuple(path))

    def _mentioned(self, clue: str) -> list[str]:
        """Titles that stand in a clue, longest first."""
        return [name for name in self._names(clue) if name in self.passages]

    @staticmethod
    def _names(clue: str) -> list[str]:
        tokens = clue.split()
        spans = [
            " ".join(tokens[start:end]).strip(".,;:()'")
            for start in range(len(tokens))
            for end in range(start + 1, min(len(tokens), start + 6) + 1)
        ]
        return sorted(dict.fromkeys(spans), key=lambda name: (-len(name), name))
