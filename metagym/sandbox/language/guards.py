"""What compiled programs call in place of dangerous operations.

Every guard judges an object by `type()`, which no program can falsify, and calls no method of it while it judges. What a
guard returns is plain text, the program's own object, or a type that the program may name anyway.
"""

from __future__ import annotations

import abc
import builtins
import operator
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from metagym.sandbox.language import names
from metagym.sandbox.language.formatting import safe_format, safe_format_map

_MISSING: Any = object()
_MODULE_OF = type.__dict__["__module__"].__get__
_NAME_OF = type.__dict__["__name__"].__get__
_MRO_OF = type.__dict__["__mro__"].__get__


# --- what belongs to the program


def own_class(cls: Any) -> bool:
    """Whether a class comes from the program: built by its class statements, or by a library for it."""
    return cls.__flags__ & _HEAP and _MODULE_OF(cls) == names.PROGRAM


_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def write(ob: Any) -> Any:
    """Gives back an object whose attributes the program may set.

    Raises:
        TypeError: It is a module, a class or an object of the library.
    """
    if type(ob).__module__ == names.PROGRAM:
        return ob
    kind = type(ob)
    if issubclass(kind, type):
        if own_class(ob):
            return ob
        raise TypeError(f"attributes of the class {_NAME_OF(ob)} cannot be set; derive a class of your own")
    if kind is types.FunctionType:
        if ob.__globals__.get("__name__") == names.PROGRAM:
            return ob
    elif kind is types.SimpleNamespace or issubclass(kind, BaseException):
        return ob
    raise TypeError(f"attributes of {_article(kind)} cannot be set; keep the value on an object of your own")


def _article(kind: type) -> str:
    name = _NAME_OF(kind)[:80]
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


# --- reading


def read(ob: Any, name: str) -> Any:
    """An attribute whose name was judged before; the risky ones depend on the object."""
    return _risky(ob, name) if name in names.RISKY else getattr(ob, name)


_REFUSED: dict[str, tuple[type, ...]] = {
    "mro": (type,),
    "register": (type,),
    "obj": (AttributeError,),
}
"""Attribute -> types on which it is refused; `guard_arrays` adds those of numpy."""

_OF_ARRAYS = ("ctypes", "cffi", "capsule", "tofile", "dump", "dumps", "resize", "setfield", "getfield")


def guard_arrays(kinds: Iterable[type]) -> None:
    """Refuses the ways from arrays and bit generators to files, pickles and memory."""
    for name in _OF_ARRAYS:
        _REFUSED[name] = tuple(kinds)


def _risky(ob: Any, name: str) -> Any:
    kind = type(ob)
    if name == "format" or name == "format_map":
        if issubclass(kind, str) and _defined(kind, name) is str.__dict__[name]:
            return (
                (lambda *args, **kwargs: safe_format(ob, args, kwargs))
                if name == "format"
                else (lambda mapping: safe_format_map(ob, mapping))
            )
        if issubclass(kind, type) and issubclass(ob, str) and _defined(ob, name) is str.__dict__[name]:
            return _unbound_format if name == "format" else safe_format_map
    elif issubclass(kind, _REFUSED.get(name, ())) and not (name == "register" and not _abstract(ob)):
        raise AttributeError(f"the attribute {name} of {_article(kind)} is not given to programs")
    return getattr(ob, name)


def _abstract(cls: Any) -> bool:
    """Whether `register` is that of an abstract class of the library, and not a method that the program wrote."""
    return not own_class(cls)


def _defined(kind: type, name: str) -> Any:
    for cls in _MRO_OF(kind):
        found = type.__dict__["__dict__"].__get__(cls).get(name, _MISSING)
        if found is not _MISSING:
            return found
    return _MISSING


def _unbound_format(template: str, /, *args: Any, **kwargs: Any) -> str:
    if not issubclass(type(template), str):
        raise TypeError("str.format needs a text")
    return safe_format(template, args, kwargs)


def text(ob: Any, name: str) -> Any:
    """``__name__``, ``__doc__`` and the like as text or None, mappings of names as copies."""
    value = getattr(ob, name)
    if value is None:
        return None
    if name in names.COPIES:
        return {names.shown(key): item for key, item in dict(value).items()}
    if type(value) is not str:
        raise AttributeError(f"{name} of {_article(type(ob))} is not given to programs")
    return names.shown(value)


def get(ob: Any, name: str, default: Any = _MISSING) -> Any:
    """The builtin `getattr`: the names that a source could read with a dot, and no others."""
    try:
        return _get(ob, name)
    except AttributeError:
        if default is _MISSING:
            raise
        return default


def _get(ob: Any, name: str) -> Any:
    if type(name) is not str:
        raise TypeError("attribute name must be string")
    if not name.startswith("_") and name not in names.FORBIDDEN:
        return read(ob, name)
    attribute = names.dynamic(name)
    if attribute is None:
        raise AttributeError(f"the attribute {name[:80]} is not given to programs")
    if attribute == "__class__":
        return type_of(ob)
    if attribute in names.TEXTS or attribute in names.COPIES:
        return text(ob, attribute)
    return getattr(ob, attribute)


def has(ob: Any, name: str) -> bool:
    """The builtin `hasattr`, for the names that `get` gives."""
    try:
        _get(ob, name)
    except AttributeError:
        return False
    return True


def _settable(name: Any) -> str:
    if type(name) is not str:
        raise TypeError("attribute name must be string")
    attribute = None if names.is_dunder(name) else names.dynamic(name)
    if attribute is None:
        raise AttributeError(f"the attribute {name[:80]} cannot be set by programs")
    return attribute


def set_(ob: Any, name: str, value: Any) -> None:
    """The builtin `setattr`, with the guard of a plain write."""
    setattr(write(ob), _settable(name), value)


def delete(ob: Any, name: str) -> None:
    """The builtin `delattr`, with the guard of a plain write."""
    delattr(write(ob), _settable(name))


def set_frozen(ob: Any, name: str, value: Any) -> None:
    """``object.__setattr__(self, name, value)``, as frozen dataclasses set their fields."""
    if not own_class(type(ob)):
        raise TypeError("object.__setattr__ is for instances of your own classes")
    object.__setattr__(ob, _settable(name), value)


def update(ob: Any, values: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), /, **more: Any) -> None:
    """``self.__dict__.update(...)``: one guarded write for each name."""
    for name, value in dict(values, **more).items():
        set_frozen(ob, name, value)


def vars_(*args: Any) -> dict[str, Any]:
    """The builtin `vars` for an instance: a copy of its attributes."""
    if len(args) != 1:
        raise TypeError("vars() needs an instance of one of your classes")
    kind = type(args[0])
    if not own_class(kind) and kind is not types.SimpleNamespace:
        raise TypeError(f"vars() of {_article(kind)} is not given to programs")
    try:
        found = object.__getattribute__(args[0], "__dict__")
    except AttributeError:
        raise TypeError("vars() argument must have attributes of its own (no __slots__)") from None
    return {names.shown(name): value for name, value in found.items()}


def dir_(*args: Any) -> list[str]:
    """The builtin `dir` for one object: its names without those of the language."""
    if len(args) != 1:
        raise TypeError("dir() needs an object")
    return sorted({names.shown(name) for name in dir(args[0]) if not name.startswith("_") or name in names.LIBRARY})


# --- types


class Kind:
    """Stands for a type that programs cannot name (of functions, generators, modules): compared and named, not called."""

    __slots__ = ("__name__", "__qualname__", "_kind")
    __doc__ = None  # type: ignore[assignment]

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.__name__ = self.__qualname__ = _NAME_OF(kind)

    def __instancecheck__(self, ob: Any) -> bool:
        return isinstance(ob, self._kind)

    def __repr__(self) -> str:
        return f"<class {self.__name__!r}>"


class TypeGuard:
    """The builtin `type`: of one argument; a class to `isinstance`, but no way to make classes."""

    __slots__ = ("__name__", "__qualname__")
    __doc__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self.__name__ = self.__qualname__ = "type"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            raise TypeError("type() takes one argument here; write a class statement to make a class")
        return type_of(args[0])

    def __instancecheck__(self, ob: Any) -> bool:
        return isinstance(ob, type | TypeGuard)

    def __subclasscheck__(self, cls: Any) -> bool:
        return cls is self

    def __repr__(self) -> str:
        return "<class 'type'>"

    def __class_getitem__(cls, item: Any) -> NoReturn:
        raise TypeError("type[...] is only given to annotations")


type_guard = TypeGuard()
_nameable: set[type] = set()
_kinds: dict[type, Any] = {}


def name_types(values: Iterable[Any]) -> None:
    """Adds the types among `values` to those that programs may name."""
    _nameable.update(value for value in values if isinstance(value, type))


def type_of(ob: Any) -> Any:
    """The type of an object if the program may name it, or what stands for it."""
    kind = type(ob)
    if kind.__module__ == names.PROGRAM or kind in _nameable:
        return kind
    if kind is type or kind is TypeGuard:
        return type_guard
    found = _kinds.get(kind)
    if found is None:
        found = _kinds[kind] = Kind(kind)
    return found


def class_(ob: Any) -> Any:
    """Gives back a class, for ``Base.__init__(self, ...)``.

    Raises:
        AttributeError: It is an object and no class that the program may name.
    """
    if isinstance(ob, type) and (own_class(ob) or ob in _nameable):
        return ob
    raise AttributeError("__init__ and its like can only be called on super() or on a class")


class Shown:
    """Base of the program's classes: an object is shown as ``<Name>``, without the address, so that replays are equal."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{names.shown(_NAME_OF(type(self)))}>"


Shown.__module__ = names.PROGRAM


class Meta(abc.ABCMeta):
    """In place of ``ABCMeta`` as a base of the program's metaclasses: what they pass on is judged like a class statement."""

    def __new__(mcs, name: str, bases: tuple[Any, ...], body: Any, /, **keywords: Any) -> Any:
        """Makes a class if its body holds only what a class statement may hold."""
        for key in body:
            if type(key) is not str or names.is_dunder(key) and key not in _IN_BODIES:
                raise TypeError(f"a class may not define {str(key)[:80]}")
        return super().__new__(mcs, name, bases, dict(body), **keywords)


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
    for base in resolved:
        if not isinstance(base, type) or base.__module__.split(".")[0] == "numpy":
            raise TypeError(f"a class cannot be derived from {_article(type(base))} here")
        if issubclass(base, type) and base is not abc.ABCMeta and not issubclass(base, Meta):
            raise TypeError("a metaclass must be ABCMeta or a class derived from it")
    if any(base is abc.ABCMeta for base in bases):
        bases = tuple(Meta if base is abc.ABCMeta else base for base in bases)
    elif all(_plain_kind(base) and base.__repr__ is object.__repr__ for base in resolved):
        bases = (*(base for base in bases if base is not object), Shown)
    return builtins.__build_class__(function, name, *bases, **keywords)  # type: ignore[attr-defined]


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


# --- augmented assignment and calls of the full mode

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
    "|=": operator.ior,
    "^=": operator.ixor,
    "&=": operator.iand,
    "//=": operator.ifloordiv,
    "@=": operator.imatmul,
}


def inplace(op: str, value: Any, other: Any) -> Any:
    """``value += other`` for a variable."""
    return _OPERATORS[op](value, other)


def old_attr(ob: Any, name: str) -> tuple[Any, str, bool, Any]:
    """The first half of ``ob.name += ...``: what is read before the right side is computed."""
    return ob, name, True, read(ob, name)


def old_item(ob: Any, key: Any) -> tuple[Any, Any, bool, Any]:
    """The first half of ``ob[key] += ...``."""
    return ob, key, False, ob[key]


def augment(old: tuple[Any, Any, bool, Any], op: str, other: Any) -> None:
    """The second half: computes and writes."""
    ob, key, is_attribute, value = old
    value = _OPERATORS[op](value, other)
    if is_attribute:
        setattr(write(ob), key, value)
    else:
        ob[key] = value


def apply(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A call with stars."""
    return function(*args, **kwargs)
