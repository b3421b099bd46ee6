"""How much of a batch asks the same: the share of a question's cluster, as R-Zero subtracts it from the reward.

R-Zero (public code) clusters a batch by 1 - BLEU with average linkage, cut at 0.5, and subtracts a question's cluster
size over the batch size. A challenger without it learns to ask one good question again and again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from metagym.errors import BadInput
from metagym.sesa.cards import normal
from metagym.sesa.embedders import Embedder, checked

DISTANCE = 0.5
"""Average distance up to which two clusters become one; R-Zero's value for 1 - BLEU."""

_ORDER = 4
_WORDS = re.compile(r"\w+")


def bleu(texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Sentence BLEU of every pair of texts, the mean of both directions: shape (n, n), each in [0, 1].

    Papineni et al. (2002) with n-grams up to 4 and add-one smoothing of the counts for n > 1 (Lin and Och 2004), words
    case-folded; without smoothing nearly every pair of short questions would be 0.
    """
    tokens = [_WORDS.findall(normal(text)) for text in texts]
    lengths = np.array([len(words) for words in tokens], dtype=np.float64)
    logs = np.zeros((len(texts), len(texts)))  # row: hypothesis, column: reference
    with np.errstate(divide="ignore", invalid="ignore"):
        for order in range(1, _ORDER + 1):
            marks = _marks(tokens, order)
            extra = 0.0 if order == 1 else 1.0
            logs += np.log((marks @ marks.T + extra) / (marks.sum(axis=1) + extra)[:, None]) / _ORDER
        brevity = np.minimum(0.0, 1.0 - lengths[None, :] / lengths[:, None])
        score = np.nan_to_num(np.exp(logs + brevity), nan=0.0)
    empty = lengths == 0
    score[np.ix_(empty, empty)] = 1.0
    return (score + score.T) / 2


def _marks(tokens: Sequence[list[str]], order: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """One row per text, one column per n-gram and occurrence: the product of two rows counts the n-grams they share."""
    columns: dict[Any, int] = {}
    cells = []
    for row, words in enumerate(tokens):
        seen: Counter[tuple[str, ...]] = Counter()
        for at in range(len(words) - order + 1):
            gram = tuple(words[at : at + order])
            seen[gram] += 1
            cells.append((row, columns.setdefault((gram, seen[gram]), len(columns))))
    out = np.zeros((len(tokens), len(columns)))
    if cells:
        out[tuple(zip(*cells, strict=True))] = 1.0
    return out


def distances(questions: Sequence[str], embedder: Embedder | None = None) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Pairwise distances, shape (n, n): 1 - cosine with an embedder, else 1 - `bleu`."""
    if embedder is not None:
        rows = checked(embedder, list(questions)).astype(np.float64)
        return np.clip(1.0 - np.round(rows @ rows.T, 9), 0.0, 2.0)
    return np.clip(1.0 - bleu(questions), 0.0, 1.0)


def clusters(distance: np.ndarray[Any, Any], limit: float = DISTANCE) -> list[int]:
    """Average-linkage clusters, cut at a mean distance of `limit`.

    Args:
        distance: Symmetric, shape (n, n).
        limit: Largest mean distance at which two clusters are joined.

    Returns:
        For each row the smallest row of its cluster.
    """
    count = len(distance)
    table = np.array(distance, dtype=np.float64)
    np.fill_diagonal(table, np.inf)
    sizes = np.ones(count)
    label = list(range(count))
    while count > 1:
        one, other = sorted(divmod(int(np.argmin(table)), count))
        if not table[one, other] <= limit + 1e-12:  # rounding must not split equal questions
            break
        merged = (table[one] * sizes[one] + table[other] * sizes[other]) / (sizes[one] + sizes[other])
        table[one], table[:, one] = merged, merged
        table[other], table[:, other] = np.inf, np.inf
        table[one, one] = np.inf
        sizes[one] += sizes[other]
        label = [one if name == other else name for name in label]
    return label


def repetition(questions: Sequence[str], embedder: Embedder | None = None, limit: float = DISTANCE) -> list[float]:
    """Each question's share of the batch that asks the same, in (0, 1]; a question of its own kind has 1 / n.

    Args:
        questions: The batch.
        embedder: Compare by its cosines; None compares by `bleu`.
        limit: As for `clusters`.

    Raises:
        BadInput: `limit` is negative.
    """
    if limit < 0:
        raise BadInput(f"limit is at least 0, got {limit:g}")
    if not questions:
        return []
    label = clusters(distances(questions, embedder), limit)
    sizes = Counter(label)
    return [sizes[name] / len(questions) for name in label]
