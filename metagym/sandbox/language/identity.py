"""`id` and `hash` that are equal in every process: numbers in the order of the questions, digests of text."""

from __future__ import annotations

import enum
import types
import zlib
from collections.abc import Callable
from typing import Any

_FIRST = 1_000
_BY_ADDRESS = (types.BuiltinFunctionType, types.MethodWrapperType)
"""Types whose own hash is made of an address."""

_OF_MEMBERS = enum.Enum.__hash__

_REMEMBERED = 4096
"""Most hashes of texts, and of sets, that are kept."""

_texts: dict[str, int] = {}

_instance_of_super = super.__dict__["__self__"].__get__


class Identities:
    """The `id` and `hash` of one session.

    An object that was asked for its identity is kept alive, so that its number stays its own.
    """

    __slots__ = ("_known", "_sets")

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Any]] = {}
        self._sets: dict[frozenset[Any], int] = {}  # hashes of sets of texts, numbers and None

    def id(self, ob: Any, /) -> int:
        """A number that no other object of the session has."""
        found = self._known.get(id(ob))
        if found is None:
            found = self._known[id(ob)] = (_FIRST + 16 * len(self._known), ob)
        return found[0]

    def hash(self, ob: Any, /) -> int:
        """The builtin `hash`, with equal values for equal texts in every process."""
        kind = type(ob)
        if kind is str:
            found = _texts.get(ob)
            return _of_text(ob) if found is None else found
        if kind is int or kind is float:
            return hash(ob) if ob == ob else 0  # that of a NaN would be its address
        own = kind.__hash__
        if type(own) is types.FunctionType and own is not _OF_MEMBERS:  # a method that somebody wrote
            return hash(ob)
        if kind is bytes:
            return _of_bytes(ob)
        if kind is tuple:
            return hash(tuple(map(self.hash, ob)))
        if kind is frozenset:
            return self._of_set(ob)
        if ob is None:
            return 0x5EED
        if own is _OF_MEMBERS and issubclass(kind, enum.Enum):
            return self.hash(object.__getattribute__(ob, "_name_"))
        if kind is types.MethodType:
            return hash((self.id(ob.__self__), self.id(ob.__func__)))
        if own is object.__hash__ or kind in _BY_ADDRESS:
            return self.id(ob)
        return hash(ob)

    def _of_set(self, ob: frozenset[Any]) -> int:
        found = self._sets.get(ob)
        if found is None:
            found = hash(frozenset(map(self.hash, ob)))
            if all(type(item) is str or type(item) is int or item is None for item in ob):
                if len(self._sets) >= _REMEMBERED:
                    self._sets.clear()
                self._sets[ob] = found
        return found

    def method(self, ob: Any) -> Callable[..., int]:
        """``ob.__hash__`` of an object, a class or ``super()``: what it gives hangs on no address."""
        if type(ob) is super:
            instance, found = _instance_of_super(ob), ob.__hash__
            return (lambda: self.id(instance)) if getattr(found, "__objclass__", None) is object else found
        if not isinstance(ob, type):
            return lambda: self.hash(ob)
        return (lambda one: self.id(one)) if ob.__hash__ is object.__hash__ else ob.__hash__


def _of_text(text: str) -> int:
    if len(_texts) >= _REMEMBERED:
        _texts.clear()
    found = _texts[text] = _of_bytes(text.encode("utf-8", "surrogatepass"))
    return found


def _of_bytes(data: bytes) -> int:
    return zlib.crc32(data) | zlib.adler32(data) << 28
