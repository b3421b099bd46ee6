"""One stable digest tree for every random choice.

Nothing in MetaGym uses a global random generator, ``hash()`` or the clock: each choice takes its seed from
`derive`, so that equal seeds give equal records in any process, on any Python and for any number of workers.
"""

from __future__ import annotations

import hashlib
import operator
import random
from collections.abc import Callable
from typing import Any

from metagym.errors import BadInput

_BITS = 63


def derive(seed: int, *names: str | int) -> int:
    """Derives the seed of a named choice from the seed of the whole.

    Args:
        seed: Any non-negative integer; 0 is a seed like any other.
        *names: The path of the choice, e.g. ``"actor", task.key, turn``. ``1`` and ``"1"`` are different names,
            and ``("a", "b")`` differs from ``("ab",)``.

    Returns:
        An integer in [0, 2**63), equal in every process and Python version.

    Raises:
        BadInput: `seed` is not a non-negative integer, or a name is neither text nor integer.
    """
    return _number(_path(seed, names))


def named_branch(seed: int, *names: str | int) -> Callable[[str], int]:
    """A function ``name -> derive(seed, *names, name)`` that does the common part of the path once.

    Args:
        seed: As for `derive`.
        *names: As for `derive`.
    """
    copy = _path(seed, names).copy

    def at(name: str) -> int:
        digest = copy()
        raw = name.encode("utf-8", "surrogatepass")
        digest.update(b"s%d:" % len(raw) + raw)
        return _number(digest)

    return at


def branch(seed: int, *names: str | int) -> Callable[[int], int]:
    """A function ``n -> derive(seed, *names, n)`` that does the common part of the path once.

    Args:
        seed: As for `derive`.
        *names: As for `derive`.
    """
    copy = _path(seed, names).copy

    def at(number: int) -> int:
        digest = copy()
        digest.update(b"i%d:" % number)
        return int.from_bytes(digest.digest(), "big") >> (64 - _BITS)  # as `_number`; this runs at every step

    return at


def _number(digest: hashlib.blake2b) -> int:
    return int.from_bytes(digest.digest(), "big") >> (64 - _BITS)


def _path(seed: int, names: tuple[str | int, ...]) -> hashlib.blake2b:
    if type(seed) is not int or seed < 0:
        seed = check_seed(seed)
    digest = hashlib.blake2b(b"%d" % seed, digest_size=8)
    for name in names:
        if isinstance(name, str):
            raw = name.encode("utf-8", "surrogatepass")
            digest.update(b"s%d:" % len(raw) + raw)
        elif isinstance(name, int) and not isinstance(name, bool):
            digest.update(b"i%d:" % name)
        else:
            raise BadInput(f"a seed path is made of texts and integers, got {name!r}")
    return digest


def rng(seed: int, *names: str | int) -> random.Random:
    """A `random.Random` of its own for one named choice (see `derive`)."""
    return random.Random(derive(seed, *names))


def check_seed(seed: Any, what: str = "seed") -> int:
    """Returns `seed` as an int, or raises `BadInput` naming `what`; 0 is accepted, None and booleans are not."""
    try:
        found = -1 if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        found = -1
    if found < 0:
        raise BadInput(f"{what} must be a non-negative integer, got {seed!r}")
    return found
