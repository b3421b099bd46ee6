"""How new a program is beside those that are known.

Two programs are as similar as their syntax trees are (`metagym.spade.fingerprint`); where one of them has no
fingerprint, as their words are. Programs that behave alike under the probes are the same program.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from metagym.checks import whole
from metagym.spade.records import EnvRecord

_WORD = re.compile(r"[^\W\d_]+|\d+")

Similarity = Callable[[EnvRecord, EnvRecord], float]
"""Of two programs, in [0, 1]."""


class Embedder(Protocol):
    """Vectors of texts whose scalar products are similarities.

    Attributes:
        id: Names method and settings, for manifests.
    """

    @property
    def id(self) -> str:
        """Name of method and settings."""
        ...

    def vectors(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        """One row for each text, of length 1 (or 0 for a text without words). Rows may depend on the other texts."""
        ...


@dataclass(frozen=True)
class HashedNgrams:
    """Words and pairs of words, hashed; sublinear term frequency times inverse document frequency (no model).

    Weights are (1 + ln tf) * (1 + ln((1 + N) / (1 + df))) over the texts of one call, as in Manning, Raghavan & Schütze
    (2008), *Introduction to Information Retrieval*, sections 6.2-6.4, smoothed so that no weight is 0.

    Attributes:
        size: Number of places.
    """

    size: int = 1024

    @property
    def id(self) -> str:
        """Name of method and settings."""
        return f"hashed-ngrams-{self.size}"

    def vectors(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        """One row for each text, of length 1."""
        table = np.zeros((len(texts), self.size))
        for row, text in enumerate(texts):
            places, weights = _terms(text, self.size)
            table[row, places] = weights
        table *= 1 + np.log((1 + len(texts)) / (1 + np.count_nonzero(table, axis=0)))
        norms = np.linalg.norm(table, axis=1, keepdims=True)
        return table / np.where(norms == 0, 1, norms)


@lru_cache(maxsize=1024)
def _terms(text: str, size: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Places of the terms of a text and their weights by frequency; one memory's programs are asked for again."""
    words = [word.casefold() for word in _WORD.findall(text)]
    terms = [*words, *map(" ".join, zip(words, words[1:], strict=False))]
    found = Counter(zlib.crc32(term.encode("utf-8", "surrogatepass")) % size for term in terms)
    counts = np.fromiter(found.values(), float, len(found))
    return np.fromiter(found, np.intp, len(found)), 1 + np.log(counts)


@dataclass(frozen=True)
class Novelty:
    """How new a program is.

    Attributes:
        value: 1 - the greatest similarity to a known program, in [0, 1]; 1 where none is known.
        nearest: Digest and similarity of the k most similar, most similar first.
        wording: The greatest similarity of words, in [0, 1]; it tells apart what is new from what is only reworded.
    """

    value: float
    nearest: tuple[tuple[str, float], ...] = ()
    wording: float = 0.0


def structural(left: EnvRecord, right: EnvRecord) -> float | None:
    """Similarity by behaviour and syntax tree; None where a fingerprint is missing."""
    if left.digest == right.digest or (left.behaviour and left.behaviour == right.behaviour):
        return 1.0
    if left.ast is None or right.ast is None:
        return None
    return left.ast.similarity(right.ast)


def novelty(
    record: EnvRecord,
    known: Sequence[EnvRecord],
    k: int = 5,
    similarity: Similarity | None = None,
    embedder: Embedder | None = None,
) -> Novelty:
    """Compares a program with the known ones.

    Args:
        record: The program.
        known: What it is compared with.
        k: How many neighbours are named, >= 1.
        similarity: Replaces the built-in comparison (see the module's text).
        embedder: For the words; `HashedNgrams` by default.
    """
    whole("k", k, 1)
    if not known:
        return Novelty(1.0)
    rows = (embedder or HashedNgrams()).vectors([record.source, *(other.source for other in known)])
    words = np.clip(rows[1:] @ rows[0], 0.0, 1.0).tolist()
    found = []
    for other, wording in zip(known, words, strict=True):
        judged = structural(record, other) if similarity is None else similarity(record, other)
        found.append((other.digest, min(1.0, max(0.0, wording if judged is None else judged))))
    found.sort(key=lambda pair: (-pair[1], pair[0]))
    return Novelty(1.0 - found[0][1], tuple(found[:k]), max(words))
