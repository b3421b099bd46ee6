"""Types and classes: what `type` gives, how the program's classes are built, and how their objects are shown."""

from __future__ import annotations

import abc
import builtins
import types
from collections.abc import Iterable
from typing import Any

from metagym.sandbox.language import names
from metagym.sandbox.language.ownership import described, module_of, mro_of, name_of, own_class

_PROGRAM = names.PROGRAM


class Kind:
    """Stands for a type that programs cannot name (of functions, modules): compared and named, not called."""

    __slots__ = ("__name__", "__qualname__", "_kind")
    __doc__ = None

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.__name__ = self.__qualname__ = name_of(kind)

    def __instancecheck__(self, ob: Any) -> bool:
        """``isinstance(ob, type(x))``."""
        return isinstance(ob, self._kind)

    def __repr__(self) -> str:
        """Like the type it stands for."""
        return f"<class {self.__name__!r}>"


class TypeGuard:
    """The builtin `type`: of one argument; a class to `isinstance`, but no way to make classes."""

    __slots__ = ("__name__", "__qualname__")
    __doc__ = None

    def __init__(self) -> None:
        self.__name__ = self.__qualname__ = "type"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """``type(ob)``."""
        if len(args) != 1 or kwargs:
            raise TypeError("type() takes one argument here; write a class statement to make a class")
        return named(type(args[0]))

    def __instancecheck__(self, ob: Any) -> bool:
        """``isinstance(ob, type)``."""
        return isinstance(ob, type | TypeGuard)

    def __subclasscheck__(self, cls: Any) -> bool:
        """Only `type` is one."""
        return cls is self

    def __repr__(self) -> str:
        """Like `type`."""
        return "<class 'type'>"


type_guard = TypeGuard()
_nameable: set[type] = set()
_kinds: dict[type, Any] = {}


def name_types(values: Iterable[Any]) -> None:
    """Adds the types among `values` to those that programs may name."""
    _nameable.update(value for value in values if isinstance(value, type))


def type_of(ob: Any) -> Any:
    """The type of an object if the program may name it, or what stands for it."""
    kind = type(ob)
    return kind if kind.__module__ == _PROGRAM else named(kind)


def named(kind: type) -> Any:
    """A type if the program may name it, or what stands for it."""
    if kind.__module__ == names.PROGRAM or kind in _nameable:
        return kind
    if kind is type or kind is TypeGuard:
        return type_guard
    found = _kinds.get(kind)
    if found is None:
        found = _kinds[kind] = Kind(kind)
    return found


def mro(cls: Any) -> tuple[Any, ...]:
    """``Name.__mro__`` of a class of the program: what of it the program may name."""
    if not (isinstance(cls, type) and own_class(cls)):
        raise AttributeError("__mro__ is given for classes of the program only")
    return tuple(named(base) for base in mro_of(cls) if base is not Shown)


def class_(ob: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """``Base.__init__(self, ...)`` and its like, or ``self.__init__()``.

    A method of the library that starts an object sets attributes of whatever it is given: it is given objects and
    classes of the program only.

    Raises:
        AttributeError: What it is called on, or its first argument, is not the program's.
    """
    if not isinstance(ob, type):
        may = own_class(type(ob))
    elif issubclass(ob, type):
        may = False
    elif name == "__init_subclass__":
        may = own_class(ob)
    else:
        may = bool(args) and own_class(args[0] if isinstance(args[0], type) else type(args[0]))
    if not may:
        raise AttributeError(
            f"{name} can only be called on super() or on a class, for an object of a class of your own"
        )
    return getattr(ob, name)(*args, **kwargs)


class Shown:
    """Base of the program's classes: an object is shown as ``<Name>``, without the address, which no replay repeats."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The class's name in brackets."""
        return f"<{names.shown(name_of(type(self)))}>"


Shown.__module__ = names.PROGRAM


class Meta(abc.ABCMeta):
    """Stands for ``ABCMeta`` as a base of metaclasses: what those pass on is judged like a class statement."""

    def __new__(mcs, name: str, bases: tuple[Any, ...], body: Any, /, **keywords: Any) -> Any:
        """Makes a class if its body holds only what a class statement may hold."""
        if mcs.mro is not type.mro:
            raise TypeError("a metaclass may not define mro: the order of bases is Python's")
        _check_bases(bases)
        found = dict(body)
        for key, value in found.items():
            if type(key) is not str or names.is_dunder(key) and key not in _IN_BODIES:
                raise TypeError(f"a class may not define {str(key)[:80]}")
            if key == "__match_args__" and not _match_args(value):
                raise TypeError("__match_args__ must be a tuple of names of attributes")
            if key == "__slots__":
                found[key] = slots(value, "")
        found["__module__"] = names.PROGRAM
        return super().__new__(mcs, name, bases, found, **keywords)


def _match_args(value: Any) -> bool:
    return type(value) is tuple and not any(
        type(name) is not str or names.is_dunder(name) or name in names.FORBIDDEN | names.RISKY for name in value
    )


Meta.__module__ = "abc"

_IN_BODIES = (
    names.DEFINABLE
    | names.CLASS_VARIABLES
    | {
        *("__module__", "__qualname__", "__annotations__", "__classcell__", "__orig_bases__"),
        *("__static_attributes__", "__firstlineno__"),
    }
)


def build_class(function: Any, name: str, /, *bases: Any, **keywords: Any) -> Any:
    """``__build_class__`` of programs: only tame metaclasses, and a repr without an address."""
    metaclass = keywords.get("metaclass", abc.ABCMeta)
    if metaclass is not abc.ABCMeta and not (isinstance(metaclass, type) and issubclass(metaclass, Meta)):
        raise TypeError("a metaclass must be ABCMeta or a class derived from it")
    resolved = types.resolve_bases(bases)
    _check_bases(resolved)
    if all(_plain_kind(base) and base.__repr__ is object.__repr__ for base in resolved):
        bases = (*(base for base in bases if base is not object), Shown)
    return builtins.__build_class__(function, name, *bases, **keywords)


def _check_bases(bases: Iterable[Any]) -> None:
    for base in bases:
        if not isinstance(base, type) or module_of(base).split(".")[0] == "numpy":
            raise TypeError(f"a class cannot be derived from {described(type(base))} here")
        if issubclass(base, type) and not issubclass(base, Meta):
            raise TypeError("a metaclass must be ABCMeta or a class derived from it")


def _plain_kind(cls: type) -> bool:
    return type(cls) in (type, abc.ABCMeta) or isinstance(cls, Meta)


def slots(value: Any, owner: str) -> Any:
    """``__slots__`` with the names under which private attributes are kept."""
    items = [value] if type(value) is str else list(value)
    found = []
    for item in items:
        if type(item) is not str or (names.is_dunder(item) and item not in ("__dict__", "__weakref__")):
            raise TypeError("__slots__ must hold names of attributes")
        found.append(names.renamed(item, owner))
    return tuple(found)
