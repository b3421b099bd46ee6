"""Which attribute names a library function may look up for a program, and which reads need a look at the object.

The language layer judges each attribute that stands in the source. The library has functions that take a name as text
(``operator.attrgetter``); ours go through `public_name`, so that they read nothing that the source could not.
"""

from __future__ import annotations

import re
import sys
from types import FunctionType
from typing import Any

PRIVATE_PREFIX = "prv"
"""The language layer renames ``_x`` to ``prv_x`` and ``__x`` to ``prv__x``: what is private is reachable by no name."""

UNREADABLE = frozenset(
    "ag_await ag_code ag_frame ag_running co_code co_consts cr_await cr_code cr_frame cr_origin f_back f_builtins "
    "f_code f_generator f_globals f_locals f_trace gi_code gi_frame gi_yieldfrom tb_frame tb_next tb_lasti "
    "func_globals func_code mro format format_map".split()
)
"""Public names that lead to frames, code or past the guards, on whatever object."""

_NAME = re.compile(r"[^\W\d]\w*")
_OWN_MODULE = "__spec__"


def public_name(name: Any) -> str:
    """The attribute that a program means by the text `name`, renamed where it is private.

    Raises:
        TypeError: `name` is no text.
        AttributeError: It is no identifier, a dunder name, or one that no program may read.
    """
    if type(name) is not str:
        raise TypeError("attribute name must be a string")
    if not _NAME.fullmatch(name):
        raise AttributeError(f"{name[:80]!r} is no attribute name")
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(f"{name[:80]} cannot be read by a text name")
    if name in UNREADABLE:
        raise AttributeError(f"{name} cannot be read by a text name")
    return PRIVATE_PREFIX + name if name.startswith("_") else name


def field_name(name: Any, what: str) -> str:
    """Checks a name that becomes a field, member or parameter: a plain identifier without leading underscores.

    Raises:
        TypeError: It is something else; the message names `what`.
    """
    if type(name) is not str or not name.isidentifier() or name.startswith("_") or name in UNREADABLE:
        shown = name[:80] if isinstance(name, str) else type(name).__name__
        raise TypeError(f"{what} names must be identifiers without leading underscore, got {shown!r}")
    return name


def written_by_program(thing: Any) -> bool:
    """Whether a function or class comes from the program and not from a module of the library or of ours."""
    if isinstance(thing, FunctionType):
        return _OWN_MODULE not in thing.__globals__
    if isinstance(thing, type):
        return bool(thing.__flags__ & _HEAP_TYPE) and (
            thing.__module__ in (PROGRAM_MODULE, "__main__") or thing.__module__ not in sys.modules
        )
    return False


PROGRAM_MODULE = "program"
"""What classes that the library builds for a program carry as their module; the language layer names its modules so."""

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement or at run time


GUARDED_ATTRIBUTES: dict[str, str] = {}


def read_guarded(obj: Any, name: str) -> Any:
    return getattr(obj, name)
