"""Plain data: what may leave a program. Copied by type, without calling anything that the program can define.

The worker copies before it sends; the parent copies what arrived once more, since a worker that a program took over can
send what it likes. Subclasses of the built-in types (enums of numbers, named tuples) give their built-in part, read
by the built-in type's own functions; their overridden methods are never run.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from metagym.errors import BadOutput
from metagym.sandbox.limits import Limits

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), range, deque)
_NAME = type.__dict__["__name__"].__get__
_KEY_TYPES = (int, float, bool, type(None))


def _is_one(kind: type, kinds: tuple[type, ...]) -> bool:
    """Whether a type is one of several; ``in`` would ask its metaclass, which may be the program's."""
    return any(kind is known for known in kinds)


def type_name(value: Any) -> str:
    """The name of a value's type, cut (a type's name may be 60 KB long); no metaclass is asked."""
    name = str.__str__(_NAME(type(value)))  # which a program may have set to an object of a class derived from str
    return name if len(name) <= 80 else name[:77] + "..."


def whole(text: str) -> str:
    """A text that every encoder takes: pairs of surrogates become the character they stand for, lone ones U+FFFD."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def plain(value: Any, limits: Limits, what: str = "the value") -> Any:
    """A copy made of None, bool, int, float, str, list and dict with text keys.

    Tuples, ranges, deques and dictionary views become lists, sets sorted lists, enum members their values, NumPy arrays
    and scalars numbers and lists, keys that are numbers or tuples of plain values text. Lone surrogates become U+FFFD.

    Args:
        value: Anything, however hostile.
        limits: `output_chars`, `items` and `depth` count for the whole value.
        what: How messages call the value.

    Raises:
        BadOutput: It holds something else, a number that is not finite or above 64 bits, or too much.
    """
    kind = type(value)
    if kind is str:
        if len(value) <= limits.output_chars and value.isascii():
            return value
    elif kind is bool or value is None:
        return value
    elif kind is float:
        if value - value == 0.0:
            return value
    elif kind is int:
        if _LOWEST <= value <= _HIGHEST:
            return value
    elif kind is dict and _is_flat(value, limits):
        return value.copy()
    return _Copy(limits, what).of(value, 0)


def _is_flat(value: dict[Any, Any], limits: Limits) -> bool:
    """Whether a dict is plain as it stands and holds scalars only: most infos, in a third of the time."""
    chars = 0
    for key, item in value.items():
        if type(key) is not str or not key.isascii():
            return False
        chars += len(key)
        kind = type(item)
        if kind is str:
            if not item.isascii():
                return False
            chars += len(item)
        elif kind is int:
            if not _LOWEST <= item <= _HIGHEST:
                return False
        elif kind is float:
            if item - item != 0.0:
                return False
        elif kind is not bool and item is not None:
            return False
    return chars <= limits.output_chars and len(value) < limits.items


class _Copy:
    """One copy in the making, with what it may still hold."""

    __slots__ = ("chars", "items", "limits", "what")

    def __init__(self, limits: Limits, what: str) -> None:
        self.limits, self.what = limits, what
        self.items, self.chars = limits.items, limits.output_chars

    def of(self, value: Any, depth: int) -> Any:
        self.items -= 1
        if self.items < 0:
            raise self.bad(f"holds more than {self.limits.items:,} items")
        if value is None or value is True or value is False:
            return value
        kind = type(value)
        if issubclass(kind, str):
            return self.text(value)
        if issubclass(kind, int):
            number = int.__index__(value)
            if not _LOWEST <= number <= _HIGHEST:
                raise self.bad("holds a whole number of more than 64 bits")
            return number
        if issubclass(kind, float):
            return self.finite(float.__float__(value))
        if depth >= self.limits.depth:
            raise self.bad(f"is nested deeper than {self.limits.depth} levels (or contains itself)")
        if issubclass(kind, dict):
            return self.mapped(dict.items(value), depth)
        if issubclass(kind, (list, tuple)):
            base: Any = list if issubclass(kind, list) else tuple
            return self.listed(base.__len__(value), base.__iter__(value), depth)
        if _is_one(kind, _VIEWS):
            return self.listed(len(value), value, depth)
        if kind is set or kind is frozenset:
            return self.ordered(self.listed(len(value), value, depth))
        if kind is Decimal or kind is Fraction:
            return self.rational(value)
        if issubclass(kind, Enum):
            kept = object.__getattribute__(value, "__dict__")  # the class may have a property in front of the value
            if "_value_" not in kept:
                raise self.bad(f"holds a {type_name(value)} without a value")
            return self.of(dict.__getitem__(kept, "_value_"), depth + 1)
        return self.other(value, kind, depth)

    def listed(self, length: int, values: Iterable[Any], depth: int) -> list[Any]:
        if length > self.items:
            raise self.bad(f"holds more than {self.limits.items:,} items")
        return [self.of(item, depth + 1) for item in values]

    def mapped(self, items: Any, depth: int) -> dict[str, Any]:
        if len(items) > self.items:
            raise self.bad(f"holds more than {self.limits.items:,} items")
        found: dict[str, Any] = {}
        for key, value in items:
            name = self.key(key, depth)
            if name in found:
                raise self.bad(f"has two keys that both read {name[:40]!r} as text")
            found[name] = self.of(value, depth + 1)
        return found

    def key(self, key: Any, depth: int) -> str:
        kind = type(key)
        if issubclass(kind, str):
            return self.text(key)
        if issubclass(kind, int) and kind is not bool:
            key = self.of(key, depth)
        elif kind is tuple:
            key = tuple(self.of(key, depth))  # a tuple of lists or dicts is no key, so one level is all there is
        elif not _is_one(kind, _KEY_TYPES):
            raise self.bad(f"has a key of type {type_name(key)}; use text as keys")
        return self.text(str(key))

    def ordered(self, values: list[Any]) -> list[Any]:
        kinds = {type(value) for value in values}
        if kinds <= {int, float, bool} or kinds == {str}:
            return sorted(values)
        raise self.bad("holds a set of mixed types, which has no order; return a sorted list")

    def text(self, value: str) -> str:
        text = str.__str__(value)
        self.chars -= len(text)
        if self.chars < 0:
            raise self.bad(f"holds more than {self.limits.output_chars:,} characters")
        return whole(text)

    def finite(self, number: float) -> float:
        if number - number != 0.0:
            raise self.bad(f"holds the number {number!r}, which is not finite")
        return number

    def rational(self, value: Any) -> float:
        try:
            return self.finite(float(value))
        except (OverflowError, ValueError):
            raise self.bad("holds a number that is not finite") from None

    def other(self, value: Any, kind: type, depth: int) -> Any:
        numpy = sys.modules.get("numpy")
        if numpy is not None and kind is numpy.ndarray:
            if value.dtype.kind not in "biufU":
                raise self.bad("holds an array of something else than numbers or texts")
            if value.size > self.items:
                raise self.bad(f"holds more than {self.limits.items:,} items")
            return self.of(value.tolist(), depth)
        if numpy is not None and issubclass(kind, (numpy.number, numpy.bool_)):
            number = numpy.generic.item(value)
            if type(number) in (bool, int, float):
                self.items += 1  # counted above already
                return self.of(number, depth)
        raise self.bad(f"holds a {type_name(value)}; return text, numbers, lists and dicts only")

    def bad(self, why: str) -> BadOutput:
        return BadOutput(f"{self.what} {why}")
