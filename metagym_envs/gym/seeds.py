"""Seeds as a user writes them: ``"0-999"``, ``"0-9,20,30-39"``, or a list of whole numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from metagym.errors import BadInput
from metagym.seeding import check_seed

MOST = 1_000_000
"""Seeds of one split, at most."""

_RANGE = re.compile(r"(\d{1,18})(?:\s*-\s*(\d{1,18}))?")


def read_seeds(name: str, given: Any) -> tuple[int, ...]:
    """The seeds, in order.

    Args:
        name: The setting, for messages.
        given: Ranges and numbers as text, or an iterable of whole numbers >= 0.

    Raises:
        BadInput: They cannot be read, one stands there twice, there is none, or there are too many.
    """
    if isinstance(given, str):
        found = _read(name, given)
    elif isinstance(given, Iterable):
        found = [check_seed(seed, f"a seed of {name}") for seed in given]
    else:
        raise BadInput(f"{name} is a range such as '0-999' or a list of seeds, got {given!r:.60}")
    if not found:
        raise BadInput(f"{name} holds no seed; write a range such as '0-999'")
    if len(set(found)) < len(found):
        raise BadInput(f"{name} holds a seed twice: {given!r:.60}")
    return tuple(found)


def _read(name: str, text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise BadInput(f"{name} is a range such as '0-999' or '0-9,20,30-39', got {text!r:.60}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise BadInput(f"{name} holds the range {part.strip()}, which ends before it begins")
        if len(found) + last - first >= MOST:
            raise BadInput(f"{name} holds more than {MOST} seeds: {text!r:.60}")
        found += range(first, last + 1)
    return found
