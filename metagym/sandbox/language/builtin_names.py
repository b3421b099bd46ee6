"""The builtins of programs: Python's own where they only compute, guards where they look around."""

from __future__ import annotations

import abc
import builtins
import dataclasses
from typing import Any

from metagym.sandbox import bases
from metagym.sandbox.language import classes, guards

_OWN = (
    "None False True Ellipsis NotImplemented abs all any ascii bin bool bytearray bytes callable chr classmethod"
    " complex dict divmod enumerate filter float format frozenset hex int isinstance issubclass iter len list map max"
    " min next object oct ord pow property range repr reversed round set slice sorted staticmethod str sum super tuple"
    " zip"
)
"""Builtins of Python that compute with what they are given; the types among them are immutable."""

_EXCEPTIONS = (
    "ArithmeticError AssertionError AttributeError BaseException BlockingIOError BrokenPipeError BufferError"
    " BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError"
    " ConnectionResetError DeprecationWarning EOFError EncodingWarning EnvironmentError Exception"
    " FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError"
    " ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt"
    " LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError"
    " OverflowError PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError"
    " ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning"
    " SystemError SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError"
    " UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning"
    " ZeroDivisionError"
)
"""All exceptions but groups, which only ``except*`` takes apart."""


def template() -> dict[str, Any]:
    """The builtins that all programs share, with the guards under their names."""
    found = {name: getattr(builtins, name) for name in f"{_OWN} {_EXCEPTIONS}".split()}
    classes.name_types(value for name, value in found.items() if name != "super")
    classes.name_types([type(None), type(...), type(NotImplemented)])
    found |= {name: getattr(bases, name) for name in bases.EXPORTS}
    found |= {
        "type": classes.type_guard,
        "getattr": guards.get,
        "hasattr": guards.has,
        "setattr": guards.set_,
        "delattr": guards.delete,
        "vars": guards.vars_,
        "dir": guards.dir_,
        "__build_class__": classes.build_class,
        "__debug__": True,
        "_getattr_": guards.read,
        "_getitem_": _item,
        "_apply_": guards.apply,
        "_inplacevar_": guards.inplace,
        "_aug_": guards.augment,
        "_old_attr_": guards.old_attr,
        "_old_item_": guards.old_item,
        "_type_": classes.type_of,
        "_text_": guards.text,
        "_vars_": guards.vars_,
        "_class_": classes.class_,
        "_mro_": classes.mro,
        "_slots_": classes.slots,
        "_setattr_": guards.set_frozen,
        "_update_": guards.update,
        "_marked_": guards.marked,
        "_unmarked_": guards.unmarked,
        "_meta_": classes.Meta,
        "_abcmeta_": abc.ABCMeta,
        "_initvar_": dataclasses.InitVar,
        "_kwonly_": dataclasses.KW_ONLY,
    }
    return found


def _item(ob: Any, key: Any) -> Any:
    return ob[key]
