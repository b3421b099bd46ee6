"""How the embedded back ends order what they find: by score, then by passage id, the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from metagym.checks import shown, whole
from metagym.errors import BadInput

DECIMALS = 4
"""Scores are rounded to this many decimals before they are compared: the last bits of a logarithm differ between
machines, and must not decide an order."""


def check_k(k: Any) -> int:
    """The number of hits per query, a whole number of at least 1."""
    return whole("k, the number of hits per query,", k, 1)


def check_queries(queries: Any) -> list[str]:
    """The queries as a list; one text alone would be taken apart into its letters.

    Raises:
        BadInput: They are no list of texts.
    """
    found = [] if isinstance(queries, (str, bytes)) else list(queries)
    if isinstance(queries, (str, bytes)) or not all(isinstance(query, str) for query in found):
        raise BadInput(f"queries is a list of texts, got {shown(queries)}")
    return found


def best(scores: np.ndarray[Any, Any], k: int) -> list[tuple[int, float]]:
    """The `k` best positions with their rounded scores; only scores above 0 count, ties go to the lower position."""
    found = np.flatnonzero(scores > 0)
    if len(found) > 4 * k:
        # All that can be among the best after rounding: what is not below the k-th by more than one unit.
        kth = np.partition(scores[found], len(found) - k)[len(found) - k]
        found = found[scores[found] >= kth - 10.0**-DECIMALS]
    rounded = [(int(at), round(float(scores[at]), DECIMALS)) for at in found]
    rounded.sort(key=lambda pair: (-pair[1], pair[0]))
    return rounded[:k]
