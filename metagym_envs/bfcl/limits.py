"""Calls that would take the process's time or memory: refused before they run.

Back ends run in our process, on numbers that a model wrote. Four tools of `MathAPI` compute as many digits as they are
told, and a file tree in which folders hold each other has more paths than anybody can list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_DIGITS = 10_000
"""Largest exponent, precision and number of places; the benchmark's own are below 20."""

MAX_PATHS = 20_000
"""Most paths of a file tree; the benchmark's largest has below 1,000."""

_COUNTS = {
    "power": "exponent",
    "logarithm": "precision",
    "square_root": "precision",
    "round_number": "decimal_places",
}


def too_costly(method: Any, arguments: Mapping[str, Any]) -> str:
    """Why a call may not run; "" where it may.

    Args:
        method: The bound method of a back end.
        arguments: Its arguments by name.
    """
    name, instance = method.__name__, method.__self__
    if name in _COUNTS:
        count = arguments.get(_COUNTS[name])
        if isinstance(count, int) and abs(count) > MAX_DIGITS:
            return f"{_COUNTS[name]} is at most {MAX_DIGITS:,}"
    root = getattr(instance, "root", None)
    if root is not None and paths(root, MAX_PATHS) > MAX_PATHS:
        return f"the file system holds more than {MAX_PATHS:,} paths"
    return ""


def paths(folder: Any, most: int) -> int:
    """Number of paths of a file tree of the package, counted up to `most` and one more.

    A folder that can be reached in two ways counts twice, and one that holds itself without end.
    """
    count, left = 0, [folder]
    while left and count <= most:
        contents = getattr(left.pop(), "contents", {})
        count += len(contents)
        left += [item for item in contents.values() if hasattr(item, "contents")]
    return count
