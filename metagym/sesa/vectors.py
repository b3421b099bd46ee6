"""A growing table of unit vectors and exact searches in it: brute force, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from metagym.sesa.embedders import Vectors

BLOCK = 1024
"""Rows per block of a matrix times a vector."""

_TILE_ROWS = 256
_ALONE = 1 << 18
"""Multiplications up to which OpenBLAS stays in one thread (interface/gemm.c: SMP_THRESHOLD_MIN times 4). Several
threads are hardly faster here, since memory decides, and on a busy machine they wait for each other: 16 ms, not 0.5."""

MARGIN = 1e-5
"""Cosines in float32 are wrong by less; what is that close to a limit is computed again in float64."""


class VectorTable:
    """Rows in the order in which they came; they never change, so a view of the first n stays what it is.

    Args:
        dim: Width, >= 1.
    """

    def __init__(self, dim: int) -> None:
        self._rows: Vectors = np.zeros((0, dim), dtype=np.float32)
        self._count = 0

    def __len__(self) -> int:
        """Number of rows."""
        return self._count

    @property
    def rows(self) -> Vectors:
        """The rows, shape (len, dim)."""
        return self._rows[: self._count]

    def append(self, rows: Vectors) -> None:
        """Adds rows; room grows by half, so that n rows cost O(n)."""
        needed = self._count + len(rows)
        if needed > len(self._rows):
            grown = np.zeros((max(needed, 64, len(self._rows) * 3 // 2), self._rows.shape[1]), dtype=np.float32)
            grown[: self._count] = self.rows
            self._rows = grown
        self._rows[self._count : needed] = rows
        self._count = needed


def close_pairs(left: Vectors, right: Vectors, threshold: float) -> Iterator[tuple[int, int, float]]:
    """All (row of `left`, row of `right`, cosine) with a cosine of at least `threshold`."""
    count, dim = left.shape
    tile = max(_TILE_ROWS, _ALONE // (dim * max(1, count)))
    group = max(1, _ALONE // (tile * dim))
    for start in range(0, len(right), tile):
        block = right[start : start + tile]
        scores = np.empty((count, len(block)), dtype=np.float32)
        for first in range(0, count, group):
            np.matmul(left[first : first + group], block.T, out=scores[first : first + group])
        if scores.size and scores.max() >= threshold - MARGIN:
            for one, other in np.argwhere(scores >= threshold - MARGIN).tolist():
                if (score := cosine(left[one], block[other])) >= threshold:
                    yield one, start + other, score


def cosine(left: Any, right: Any) -> float:
    """Of two unit vectors, in float64: the same number by whatever way the pair was found.

    Rounded to 6 places: the length of a float32 row is 1 but for 1e-7, and equal texts have a cosine of 1.
    """
    return round(float(np.multiply(left, right, dtype=np.float64).sum()), 6)


def nearest(rows: Vectors, live: Any, vector: Any, k: int) -> list[tuple[int, float]]:
    """The `k` rows with the greatest cosine and, beyond them, all that tie with the last.

    Args:
        rows: The table.
        live: bool, shape (len(rows),): which rows count.
        vector: The query, shape (dim,).
        k: How many, >= 1.

    Returns:
        (row, cosine), in no order.
    """
    query = np.asarray(vector, dtype=np.float32)
    scores = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), BLOCK):
        np.matmul(rows[start : start + BLOCK], query, out=scores[start : start + BLOCK])
    scores[~live] = -np.inf
    if (count := int(np.count_nonzero(live))) > k:
        last = np.partition(scores, len(scores) - k)[len(scores) - k]
        chosen = np.flatnonzero(scores >= last - MARGIN)
    else:
        chosen = np.flatnonzero(live)
    return [(row, cosine(rows[row], vector)) for row in chosen.tolist()] if count else []
