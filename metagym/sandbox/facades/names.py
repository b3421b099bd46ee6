"""Which attribute names a library function may look up for a program, and which reads need a look at the object.

The language layer judges each attribute that stands in the source. The library has functions that take a name as text
(``operator.attrgetter``); ours go through `read`, so that they read nothing that the source could not.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from types import FunctionType
from typing import Any

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

PRIVATE_PREFIX = "prv"
"""The language layer renames ``_x`` to ``prv_x`` and ``__x`` to ``prv__x``: what is private is reachable by no name."""

PROGRAM_MODULE = "program"
"""What classes that the library builds for a program carry as their module; the language layer names its modules so."""

UNREADABLE = INSPECT_ATTRIBUTES | frozenset(
    "ag_running ag_yieldfrom co_consts co_names cr_yieldfrom f_lasti f_lineno tb_lasti tb_lineno "
    "func_globals func_code "
    "mro format format_map register obj".split()
)
"""Public names that lead to frames, code or past the guards, on whatever object: never read by a text name."""

GUARDED_ATTRIBUTES: dict[str, str] = {
    "data": "it shows memory, in an array of objects their addresses, and lets it be written; use a.tolist()",
    "tofile": "it writes a file",
    "dump": "it writes a pickle",
    "dumps": "it makes a pickle",
    "ctypes": "it gives out an address",
    "cffi": "it gives out an address",
    "capsule": "it gives out an address",
    "getfield": "it reads the memory of an array as another type",
    "setfield": "it writes the memory of an array as another type",
    "resize": "it frees memory that other arrays may still use; use numpy.resize(a, shape)",
    "setflags": "it makes read-only memory writable; use a.copy()",
    "baseclass": "it makes arrays of memory that was not cleared; use numpy.zeros",
    "toflex": "it makes arrays of records; use a.data and a.mask",
    "torecords": "it makes arrays of records; use a.data and a.mask",
}
"""Attributes of arrays, numpy scalars and bit generators that no program may read, each with its reason.

Operators make arrays of objects out of objects (``array * thing``), and no facade stands between. Such an array is
harmless as long as nobody writes its memory, so what shows memory must be refused by name: the language layer asks
`read_guarded` for these names and for `CHECKED_METHODS`.
"""

CHECKED_METHODS = frozenset({"astype", "view", "clip", "groupindex"})
"""Methods of arrays that would make arrays of objects and of dates, or leave memory as it was: `read_guarded` gives
checked ones. And the groups of a pattern, of which it gives a copy: patterns are cached for all sessions, and a
read-only view hands the dictionary itself to the operators of other objects."""

_NAME = re.compile(r"[^\W\d]\w*")
_OWN_MODULE = "__spec__"
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement or at run time


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
    if (name.startswith("__") and name.endswith("__")) or name in UNREADABLE:
        raise AttributeError(f"{name[:80]} cannot be read by a text name")
    return PRIVATE_PREFIX + name if name.startswith("_") else name


def written_name(name: str) -> str:
    """The inverse of `public_name`: the name as it stands in the program's source."""
    return name[len(PRIVATE_PREFIX) :] if name.startswith(f"{PRIVATE_PREFIX}_") else name


def read(ob: Any, name: Any) -> Any:
    """The attribute of `ob` that a program means by the text `name`.

    Raises:
        TypeError: As for `public_name`.
        AttributeError: As for `public_name` and `read_guarded`, or there is none.
    """
    return read_guarded(ob, public_name(name))


def read_guarded(ob: Any, name: str) -> Any:
    """An attribute whose name is public, with a look at the object where the name is in `GUARDED_ATTRIBUTES`.

    Raises:
        AttributeError: It leads from an array to files, pickles or memory.
    """
    if name == "groupindex" and type(ob) is re.Pattern:
        return dict(ob.groupindex)
    if name in GUARDED_ATTRIBUTES or name in CHECKED_METHODS:
        np = sys.modules.get("numpy")
        if np is not None and issubclass(type(ob), (np.ndarray, np.generic, np.random.BitGenerator)):
            if name == "data" and type(ob) is np.ma.MaskedArray:
                return ob.data  # an array, where others give their memory
            if name in GUARDED_ATTRIBUTES:
                raise AttributeError(f"{name} of {type(ob).__name__} is not offered: {GUARDED_ATTRIBUTES[name]}")
            from metagym.sandbox.facades.arrays import checked

            return checked(getattr(ob, name), name)
    return getattr(ob, name)


def field_name(name: Any, what: str) -> str:
    """Checks a name that becomes a field, member or parameter: a plain identifier without leading underscores.

    Raises:
        TypeError: It is something else; the message names `what`.
    """
    if (
        type(name) is not str
        or not name.isidentifier()
        or name.startswith("_")
        or name in INSPECT_ATTRIBUTES
        or unicodedata.normalize("NFKC", name) != name  # wide letters: the compiler of a generated text narrows them
    ):
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
