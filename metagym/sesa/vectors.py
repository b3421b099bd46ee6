"""A growing table of unit vectors and exact searches in it: brute force, in blocks."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from metagym.sesa.embedders import Vectors

BLOCK = 2048
"""Rows per tile of a matrix times a vector."""

_SHARED = 16
"""Tiles from which two threads share a search: 32,768 rows, about a millisecond."""

_FEW = 64
"""Rows that are compared one by one; where more come near, the whole table is."""

_TILE_ROWS = 256
_ALONE = 1 << 18
"""Multiplications up to which OpenBLAS stays in one thread (interface/gemm.c: SMP_THRESHOLD_MIN times 4). Several
threads are hardly faster here, since memory decides, and on a busy machine they wait for each other: 16 ms, not 0.5."""

MARGIN = 1e-5
"""Cosines in float32 are wrong by less; what is that close to a limit is computed again in float64."""


class Tiles:
    """The whole tiles of a table, transposed (shape (dim, `BLOCK`)): BLAS reads them almost twice as fast as rows.

    They are made at the first search that meets them and kept, since rows never change.
    """

    def __init__(self) -> None:
        self._tiles: list[Vectors] = []
        self._rests: Vectors = np.zeros(0, dtype=np.float32)
        self._known = 0
        self._lock = threading.Lock()

    def of(self, rows: Vectors) -> list[Vectors]:
        """The tiles of the first rows of the table that these belong to; the rows beyond the last are in none."""
        with self._lock:
            for start in range(len(self._tiles) * BLOCK, len(rows) - BLOCK + 1, BLOCK):
                self._tiles.append(np.ascontiguousarray(rows[start : start + BLOCK].T))
            return self._tiles[: len(rows) // BLOCK]

    def rests(self, rows: Vectors) -> Vectors:
        """Lengths of the second halves of the rows, shape (len(rows),)."""
        with self._lock:
            if self._known < len(rows):
                new = np.linalg.norm(rows[self._known :, rows.shape[1] // 2 :], axis=1)
                self._rests = extended(self._rests, self._known, new)
                self._known = len(rows)
            return self._rests[: len(rows)]


def extended(known: Vectors, count: int, new: Vectors) -> Vectors:
    """The first `count` rows of `known`, then `new`; room grows by half, so that n rows cost O(n)."""
    needed = count + len(new)
    if needed > len(known):
        grown = np.zeros((max(needed, 64, len(known) * 3 // 2), *known.shape[1:]), dtype=known.dtype)
        grown[:count] = known[:count]
        known = grown
    known[count:needed] = new
    return known


class VectorTable:
    """Rows in the order in which they came; they never change, so a view of the first n stays what it is.

    Args:
        dim: Width, >= 1.
    """

    def __init__(self, dim: int) -> None:
        self._rows: Vectors = np.zeros((0, dim), dtype=np.float32)
        self._count = 0
        self.tiles = Tiles()

    def __len__(self) -> int:
        """Number of rows."""
        return self._count

    @property
    def rows(self) -> Vectors:
        """The rows, shape (len, dim)."""
        return self._rows[: self._count]

    def append(self, rows: Vectors) -> None:
        """Adds rows."""
        self._rows = extended(self._rows, self._count, rows)
        self._count += len(rows)


def close_pairs(
    left: Vectors, right: Vectors, threshold: float, tiles: Tiles | None = None
) -> Iterator[tuple[int, int, float]]:
    """All (row of `left`, row of `right`, cosine) with a cosine of at least `threshold`.

    Args:
        left: Shape (n, dim).
        right: Shape (m, dim).
        threshold: In [-1, 1].
        tiles: Of the table whose first rows `right` is; a single row of `left` is compared faster by them.
    """
    if tiles is not None and len(left) == 1:
        for other in _near(right, tiles, left[0], threshold - MARGIN).tolist():
            if (score := cosine(left[0], right[other])) >= threshold:
                yield 0, other, score
        return
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


def nearest(rows: Vectors, tiles: Tiles, live: Any, vector: Any, k: int) -> list[tuple[int, float]]:
    """The `k` rows with the greatest cosine and, beyond them, all that tie with the last.

    Args:
        rows: The table.
        tiles: Of that table.
        live: bool, shape (len(rows),): which rows count.
        vector: The query, shape (dim,).
        k: How many, >= 1.

    Returns:
        (row, cosine), in no order.
    """
    scores = _scores(rows, tiles, np.asarray(vector, dtype=np.float32))
    scores[~live] = -np.inf
    if (count := int(np.count_nonzero(live))) > k:
        last = np.partition(scores, len(scores) - k)[len(scores) - k]
        chosen = np.flatnonzero(scores >= last - MARGIN)
    else:
        chosen = np.flatnonzero(live)
    return [(row, cosine(rows[row], vector)) for row in chosen.tolist()] if count else []


def _near(rows: Vectors, tiles: Tiles, query: Vectors, least: float) -> Any:
    """The rows whose cosine to a query may reach `least`, and few others, as an array of row numbers.

    Half of the numbers decide for nearly all rows: what the other half adds is at most the product of its two lengths
    (Cauchy-Schwarz). So half of the table is read, which is what time goes into.
    """
    half = len(query) // 2
    head = query[:half]
    whole_tiles = tiles.of(rows)
    done = len(whole_tiles) * BLOCK
    most = np.empty(len(rows), dtype=np.float32)
    for at, tile in enumerate(whole_tiles):
        np.dot(head, tile[:half], out=most[at * BLOCK : (at + 1) * BLOCK])
    most[:done] += float(np.linalg.norm(query[half:])) * tiles.rests(rows[:done])
    np.dot(rows[done:], query, out=most[done:])  # these lie row by row: reading a half of each saves nothing
    near = np.flatnonzero(most >= least)
    return near if len(near) <= _FEW else np.flatnonzero(_scores(rows, tiles, query) >= least)


def _scores(rows: Vectors, tiles: Tiles, query: Vectors) -> Vectors:
    """Cosines of all rows to a query, in float32; a large table is shared by several threads."""
    scores = np.empty(len(rows), dtype=np.float32)
    whole_tiles = tiles.of(rows)

    def part(first: int, last: int) -> None:
        for at in range(first, last):
            np.dot(query, whole_tiles[at], out=scores[at * BLOCK : (at + 1) * BLOCK])

    # Threads of our own, not BLAS's: those wait for each other in loops that a busy machine makes long.
    middle = len(whole_tiles) // 2 if len(whole_tiles) >= _SHARED else 0
    other = _helper().submit(part, 0, middle) if middle else None
    part(middle, len(whole_tiles))
    done = len(whole_tiles) * BLOCK
    np.dot(rows[done:], query, out=scores[done:])
    if other is not None:
        other.result()
    return scores


@functools.cache
def _helper() -> ThreadPoolExecutor:
    """The second thread of large searches; a forked child makes its own."""
    return ThreadPoolExecutor(1, thread_name_prefix="metagym-vectors")


os.register_at_fork(after_in_child=_helper.cache_clear)
