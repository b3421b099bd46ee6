"""What the identifiers of a program mean: which are renamed, which are refused, which dunder names do what.

A private name (``_x``, ``__x``) is renamed by a mark in front of it. The program notices nothing, since every place
where an identifier can stand is renamed alike, and yet it can only ever name something of its own: ``random._os`` asks
for an attribute that no library has, and the names of the guards, which begin with ``_``, cannot be bound by any
construct.
"""

from __future__ import annotations

import functools

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

from metagym.sandbox.facades import names as facade_names

MARK = facade_names.PRIVATE_PREFIX
"""What stands in front of private names."""

PROGRAM = facade_names.PROGRAM_MODULE
"""``__module__`` of everything that a program defines; no importable module has this name in a worker."""

OPERATORS = frozenset(
    f"__{name}__"
    for name in (
        "abs add and bool bytes call ceil complex contains delitem divmod enter eq exit float floor floordiv format ge"
        " getitem gt hash iadd iand ifloordiv ilshift imatmul imod imul index int invert ior ipow irshift isub iter"
        " itruediv ixor le len lshift lt matmul missing mod mul ne neg next or pos pow radd rand rdivmod repr"
        " reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor setitem str"
        " sub truediv trunc xor copy deepcopy"
    ).split()
)
"""Methods that only do what an operator or a builtin does: a class may define them, and anybody may read them."""

DEFINABLE = OPERATORS | {
    *("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"),
    *("__get__", "__set__", "__delete__"),
}
"""Dunder methods that a class may define."""

CALLED = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__"})
"""Read only where they are called at once, as ``super().__init__(...)`` or ``Base.__init__(self, ...)``."""

TEXTS = frozenset({"__name__", "__qualname__", "__doc__", "__module__"})
"""Read through a guard that gives text or None and nothing else."""

SETTABLE = TEXTS - {"__module__"}
"""May be set on the program's own functions and classes, as decorators do."""

COPIES = frozenset(
    {"__annotations__", "__dataclass_fields__", "__members__", "__slots__", "__match_args__"}
    | {"__abstractmethods__", "_member_map_", "_member_names_", "_value2member_map_", "_field_defaults"}
)
"""Read through a guard that gives a copy of the mapping, list or tuple, which may belong to a class of the library."""

PLAIN_READS = frozenset({"__cause__", "__context__", "__suppress_context__", "__notes__"})
"""Read as they are: exceptions, a truth value and texts."""

CLASS_VARIABLES = frozenset({"__slots__", "__match_args__", "__doc__"})
"""Dunder names that a class body may assign, besides methods."""

MODULE_VARIABLES = frozenset(
    {"__all__", "__version__", "__author__", "__license__", "__email__", "__date__", "__credits__", "__status__"}
    | {"__copyright__", "__maintainer__", "__version_info__", "__title__", "__description__", "__doc__"}
)
"""Dunder names that a module may assign; they are renamed like private names."""

LIBRARY = frozenset(
    {"_asdict", "_replace", "_fields", "_make"}
    | {"_value_", "_name_", "_missing_", "_generate_next_value_", "_order_", "_ignore_"}
)
"""Documented names of named tuples and enums, which keep their spelling."""

FORBIDDEN = INSPECT_ATTRIBUTES | {
    *("tb_lasti", "tb_lineno", "f_lasti", "f_lineno", "func_globals", "func_code", "ag_yieldfrom", "cr_yieldfrom"),
    *("co_consts", "co_names", "co_freevars", "co_cellvars", "co_varnames", "co_filename"),
}
"""Ways from an object to frames, code and globals."""

RISKY = frozenset({"format", "format_map", "mro", "obj", "register"}) | frozenset(
    {*facade_names.GUARDED_ATTRIBUTES, *facade_names.CHECKED_METHODS}
)
"""Harmless on most objects and dangerous on some: read through a guard that looks at the object, in either mode."""

UNGIVEN = {
    "open": "there are no files; keep the data in the program",
    "exec": "no code is made from text; call functions from a dict",
    "eval": "no code is made from text; use ast.literal_eval for data",
    "compile": "no code is made from text",
    "input": "there is nobody to ask; the agent's text is the argument of step()",
    "globals": "keep shared state in a dict or on the instance",
    "locals": "keep named values in a dict",
    "breakpoint": "there is no debugger",
    "exit": "end the episode by terminated=True",
    "quit": "end the episode by terminated=True",
    "help": "there is no console",
    "memoryview": "use bytes or bytearray",
    "aiter": "asynchronous code is not run",
    "anext": "asynchronous code is not run",
}
"""Builtins that programs do not get, and what to do instead."""


def is_dunder(name: str) -> bool:
    """Whether a name is one of the language's own (``__x__``)."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def is_private(name: str) -> bool:
    """Whether a name begins with an underscore and is neither ``_`` nor a dunder name."""
    return name.startswith("_") and name != "_" and not is_dunder(name)


def renamed(name: str, owner: str = "") -> str:
    """The name under which the program's private name is kept.

    Args:
        name: Any identifier; only private ones change.
        owner: The class around it, whose name becomes a part of ``__x`` as in Python.
    """
    if not is_private(name):
        return name
    if name.startswith("__") and not name.endswith("__") and (owner := owner.lstrip("_")):
        name = f"_{owner}{name}"
    return MARK + name


@functools.lru_cache(4096)
def dynamic(name: str) -> str | None:
    """The attribute that a name given as text stands for; None if programs may not ask for it.

    Args:
        name: Text that the program computed; of class `str` exactly.
    """
    if is_dunder(name):
        if name == "__hash__":  # it would tell addresses; the source may name it, and gets a guard
            return None
        return name if name in OPERATORS | TEXTS | COPIES | PLAIN_READS | {"__class__"} else None
    if name in FORBIDDEN:
        return None
    return name if name in LIBRARY or name in COPIES else renamed(name)


def shown(text: str) -> str:
    """Text as the program's author knows it: without the mark in front of private names."""
    return text.replace(f"{MARK}_", "_") if MARK in text else text
