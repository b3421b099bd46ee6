"""What belongs to the program; judged by the type itself, which no program can falsify."""

from __future__ import annotations

from typing import Any

from metagym.sandbox.language import names

module_of = type.__dict__["__module__"].__get__
_name = type.__dict__["__name__"].__get__
mro_of = type.__dict__["__mro__"].__get__

_PROGRAM = names.PROGRAM
HEAP = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: the flag of a class made by a class statement or at run time."""


def name_of(kind: type) -> str:
    """The name of a class as a plain text; a program may have set it to an object of a class derived from `str`."""
    return str.__str__(_name(kind))


def own_class(cls: Any) -> bool:
    """Whether a class comes from the program: built by its class statements, or by a library for it."""
    if type(cls) is type:  # no metaclass stands between: the attributes are those that `type` gives
        return cls.__module__ == _PROGRAM and cls.__flags__ & HEAP != 0
    return bool(cls.__flags__ & HEAP) and module_of(cls) == _PROGRAM


def described(kind: type) -> str:
    """A type in a message: ``a list``, ``an int``."""
    name = name_of(kind)[:80]
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"
