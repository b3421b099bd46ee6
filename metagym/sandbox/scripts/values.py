"""Python values as JSON, by exact type: what a script's function takes and returns. Never pickle, never `eval`.

Beyond JSON's own types it keeps tuples, sets, dicts with any key, bytes, complex numbers, floats that are not finite
and integers of any size apart; subclasses of these give what they are made of, and NumPy's scalars their number.
Anything else is refused. What arrives is of built-in types alone: a class of the script could answer every ``==`` with
True, and no such class leaves its worker. Each composite is a list whose first item names its type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metagym.sandbox.plain import type_name, whole

DEPTH = 64
"""Deepest nesting."""

ITEMS = 2_000_000
"""Numbers, texts and containers in one value."""

KEYS = 5_000
"""Entries of sets and keys of dicts in one value, with all that these hold, where the caller reads it. Numbers and
tuples can be chosen whose hashes are all equal; each is then compared with all others, item by item."""

_SAFE = 2**53
_DIGITS = 40_000
"""Hexadecimal digits of the longest integer."""

_DIGITS_A_KEY = 64
"""Hexadecimal digits of an integer within a key that cost as much as a further key."""


class Unsendable(ValueError):
    """A value cannot be carried over, or what arrived is none."""


def pack(value: Any) -> Any:
    """A value as plain JSON data.

    Raises:
        Unsendable: It holds another type, or too much.
    """
    room = [ITEMS]
    return _pack(value, DEPTH, room)


def _pack(value: Any, depth: int, room: list[int]) -> Any:
    kind = type(value)
    room[0] -= 1
    if depth < 0 or room[0] < 0:
        raise Unsendable("a value is nested too deeply or holds too much")
    if value is None or kind is bool:
        return value
    if kind is str:
        return whole(value)
    if kind is int:
        if -_SAFE < value < _SAFE:
            return value
        digits = hex(value)
        if len(digits) > _DIGITS:
            raise Unsendable("a number has too many digits")
        return ["int", digits]
    if kind is float:
        return value if value - value == 0.0 else ["float", repr(value)]
    if kind is complex:
        return ["complex", _pack(value.real, 0, [1]), _pack(value.imag, 0, [1])]
    if kind is bytes or kind is bytearray:
        return [kind.__name__, value.hex()]
    for known in _SEQUENCES:
        if kind is known:
            return [known.__name__, *[_pack(item, depth - 1, room) for item in value]]
    if kind is dict:
        parts = [[_pack(key, depth - 1, room), _pack(item, depth - 1, room)] for key, item in value.items()]
        return ["dict", *parts]
    if kind.__module__ == "numpy" and hasattr(value, "item") and getattr(value, "shape", None) == ():
        return _pack(value.item(), depth - 1, room)
    for base in (bool, int, float, complex, str, bytes, *_SEQUENCES, dict):
        if isinstance(value, base):  # whatever its methods say instead is the script's own doing, in its own process
            return _pack(base(value), depth - 1, room)
    raise Unsendable(f"a value of type {type_name(value)} is not carried over")


def unpack(data: Any, keys: int = ITEMS) -> Any:
    """The value of `pack`'s data; whoever sent it is not trusted.

    Args:
        data: JSON data.
        keys: What its sets and the keys of its dicts may hold together; `KEYS` outside of a worker.

    Raises:
        Unsendable: It is no such data.
    """
    try:
        return _unpack(data, DEPTH, [ITEMS, keys], False)
    except (TypeError, OverflowError, RecursionError) as error:  # a list as a key, a number that is no double
        raise Unsendable("the data is no value") from error


def _unpack(data: Any, depth: int, room: list[int], hashed: bool) -> Any:
    """The same for a part; `hashed` within an entry of a set or a key of a dict."""
    room[0] -= 1
    if depth < 0 or room[0] < 0:
        raise Unsendable("a value is nested too deeply or holds too much")
    if hashed:
        _charge(data, room)
    if type(data) is str:
        return whole(data)
    if type(data) is float and data - data != 0.0:  # 1e999, which our own side writes as ["float", "inf"]
        raise Unsendable("the data is no value")
    if data is None or type(data) in (bool, int, float):
        return data
    if type(data) is not list or not data or type(data[0]) is not str:
        raise Unsendable("the data is no value")
    name, parts = data[0], data[1:]
    if name in _MAKE:
        hashed = hashed or name in ("set", "frozenset")
        return _MAKE[name]([_unpack(part, depth - 1, room, hashed) for part in parts])
    if name == "dict":
        if not all(type(part) is list and len(part) == 2 for part in parts):
            raise Unsendable("the data is no value")
        return {_unpack(key, depth - 1, room, True): _unpack(item, depth - 1, room, hashed) for key, item in parts}
    if name == "complex" and len(parts) == 2:
        return complex(_number(parts[0]), _number(parts[1]))
    if len(parts) == 1 and type(parts[0]) is str and name in _READ:
        try:
            return _READ[name](parts[0])
        except ValueError:
            pass
    raise Unsendable("the data is no value")


def _charge(data: Any, room: list[int]) -> None:
    """Takes a part of a key out of the room for keys."""
    digits = 0
    if type(data) is int:
        digits = data.bit_length() // 4
    elif type(data) is list and data[:1] == ["int"] and type(data[-1]) is str:
        digits = len(data[-1])
    room[1] -= 1 + digits // _DIGITS_A_KEY
    if room[1] < 0:
        raise Unsendable("the sets and dicts of a value hold too much")


def _number(data: Any) -> float:
    found = _unpack(data, 1, [2, 0], False)
    if type(found) is not float:
        raise Unsendable("the data is no value")
    return found


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError("too many digits")
    return int(text, 16)


def _not_finite(text: str) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ValueError("a finite number is written as such")
    return float(text)


_SEQUENCES: tuple[type, ...] = (list, tuple, set, frozenset)
_MAKE: dict[str, Callable[[list[Any]], Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
_READ: dict[str, Callable[[str], Any]] = {
    "int": _integer,
    "float": _not_finite,
    "bytes": bytes.fromhex,
    "bytearray": bytearray.fromhex,
}
