"""What compiled programs call in place of dangerous operations.

Every guard judges an object by `type()`, which no program can falsify, and calls no method of it while it judges. What
a guard returns is plain text, the program's own object, or a type that the program may name anyway.
"""

from __future__ import annotations

import functools
import operator
import re
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from metagym.sandbox import facades
from metagym.sandbox.facades import read_guarded
from metagym.sandbox.language import names
from metagym.sandbox.language.classes import type_of
from metagym.sandbox.language.formatting import safe_format, safe_format_map
from metagym.sandbox.language.ownership import described, mro_of, name_of, own_class

_MISSING: Any = object()
_MARK = names.MARK


# --- writing


def writer(own: set[type]) -> Callable[[Any], Any]:
    """The guard of writes of one session.

    Args:
        own: Gets the classes of whose instances attributes may be set without asking again. Classes whose metaclass
            says when they are equal stay out: they could pass for others in a set.
    """

    def write_and_remember(ob: Any) -> Any:
        kind = type(ob)
        if kind in own:
            return ob
        if kind.__module__ != names.PROGRAM:
            return write(ob)
        if _defined(type(kind), "__hash__") is _BY_IDENTITY[0] and _defined(type(kind), "__eq__") is _BY_IDENTITY[1]:
            own.add(kind)
        return ob

    return write_and_remember


_BY_IDENTITY = object.__dict__["__hash__"], object.__dict__["__eq__"]


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
        raise TypeError(f"attributes of the class {name_of(ob)} cannot be set; derive a class of your own")
    if kind is types.FunctionType:
        if ob.__globals__.get("__name__") == names.PROGRAM:
            return ob
    elif kind in facades.SETTABLE_TYPES or issubclass(kind, BaseException):
        return ob
    raise TypeError(f"attributes of {described(kind)} cannot be set; keep the value on an object of your own")


# --- reading


def read(ob: Any, name: str) -> Any:
    """An attribute whose name was judged before; the risky ones depend on the object."""
    if name in names.RISKY and issubclass(type(ob), _kinds):
        if type(ob) is str and name in _FORMATS:
            return functools.partial(_FORMATS[name], ob)
        return _risky(ob, name)
    return getattr(ob, name)


_kinds: tuple[type, ...] = (str, type, AttributeError, super, re.Pattern)
"""On objects of other kinds every judged name may be read; `guard_arrays` adds those of numpy."""


def guard_arrays(kinds: Iterable[type]) -> None:
    """Looks at what is read from arrays and their like."""
    global _kinds
    _kinds = tuple(dict.fromkeys((*_kinds, *kinds)))


def _risky(ob: Any, name: str) -> Any:
    kind = type(ob)
    if issubclass(kind, super):
        return _above(ob, name)
    if name in _FORMATS:
        if issubclass(kind, str) and _defined(kind, name) is str.__dict__[name]:
            return functools.partial(_FORMATS[name], ob)
        if issubclass(kind, type) and issubclass(ob, str) and _defined(ob, name) is str.__dict__[name]:
            return _FORMATS[name]
    else:
        _check_owner(ob, name)
    return read_guarded(ob, name)


def _check_owner(ob: Any, name: str) -> None:
    kind = type(ob)
    if issubclass(kind, type):
        refused = (
            name == "mro"
            or (name == "register" and not own_class(ob))  # a class may have a `register` of its own
            or (name == "obj" and AttributeError in mro_of(ob))  # the descriptor, which reads from any instance
        )
    else:
        refused = name == "obj" and issubclass(kind, AttributeError)
    if refused:
        raise AttributeError(f"the attribute {name} of {described(kind)} is not given to programs")


_instance_of_super = super.__dict__["__self__"].__get__


def _above(ob: Any, name: str) -> Any:
    """A risky attribute of a super object: judged by the instance or class that it speaks for."""
    instance = _instance_of_super(ob)
    _check_owner(instance, name)
    value = getattr(ob, name)
    if name in _FORMATS and type(value) is types.BuiltinFunctionType:
        return functools.partial(_FORMATS[name], instance)
    return _FORMATS[name] if value is str.__dict__.get(name) else value


def super_guard(own: set[type]) -> Callable[..., Any]:
    """The builtin `super` of one session, with its arguments written out: TypeError for no class of the program.

    The facades' classes derive from the library's: ``super(datetime, datetime).now()`` would be the real clock.

    Args:
        own: Classes of the program, as `writer` knows them; gets those that are asked for.
    """

    def super_(kind: Any = _MISSING, ob: Any = _MISSING, /, *more: Any) -> Any:
        # A class without a metaclass equals itself alone; any other object could pass for one in a set.
        if type(kind) is type and kind in own and ob is not _MISSING and not more:
            return super(kind, ob)
        if ob is _MISSING or more or not (isinstance(kind, type) and own_class(kind)):
            raise TypeError("super takes no arguments, or a class of your own and its instance")
        if type(kind) is type:
            own.add(kind)
        return super(kind, ob)

    return super_


def _defined(kind: type, name: str) -> Any:
    for cls in mro_of(kind):
        found = type.__dict__["__dict__"].__get__(cls).get(name, _MISSING)
        if found is not _MISSING:
            return found
    return _MISSING


def _format(template: str, /, *args: Any, **kwargs: Any) -> str:
    if not issubclass(type(template), str):
        raise TypeError("str.format needs a text")
    return safe_format(template, args, kwargs, get)


def _format_map(template: str, mapping: Mapping[str, Any], /) -> str:
    if not issubclass(type(template), str):
        raise TypeError("str.format_map needs a text")
    return safe_format_map(template, mapping, get)


_FORMATS: dict[str, Callable[..., str]] = {"format": _format, "format_map": _format_map}


def text(ob: Any, name: str) -> Any:
    """``__name__``, ``__doc__`` and the like as text or None, mappings of names as copies."""
    value = getattr(ob, name)
    if type(value) is str:
        return value if _MARK not in value else names.shown(value)
    if value is None:
        return None
    if name in names.COPIES:
        if isinstance(value, list | tuple | frozenset):
            return type(value)(names.shown(item) if type(item) is str else item for item in value)
        return {names.shown(key) if type(key) is str else key: item for key, item in dict(value).items()}
    raise AttributeError(f"{name} of {described(type(ob))} is not given to programs")


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


def marked(keywords: Any) -> Any:
    """The mapping of ``f(**mapping)``, with private names as parameters are called."""
    if type(keywords) is not dict or not any(type(name) is str and name.startswith("_") for name in keywords):
        return keywords
    return {names.renamed(name) if type(name) is str else name: value for name, value in keywords.items()}


def unmarked(keywords: dict[str, Any]) -> dict[str, Any]:
    """The mapping that a function takes as ``**kwargs``, with private names as the author knows them."""
    if not any(name.startswith(names.MARK) for name in keywords):
        return keywords
    return {names.shown(name): value for name, value in keywords.items()}


def vars_(ob: Any = _MISSING, /, *more: Any) -> dict[str, Any]:
    """The builtin `vars` for an instance: a copy of its attributes."""
    if ob is _MISSING or more:
        raise TypeError("vars() needs an instance of one of your classes")
    kind = type(ob)
    # Never of a class: its dictionary holds the descriptor of its instances' own dictionaries.
    if not own_class(kind) and kind is not types.SimpleNamespace or issubclass(kind, type):
        raise TypeError(f"vars() of {described(kind)} is not given to programs")
    try:
        found = _attributes(ob, "__dict__")
    except AttributeError:
        raise TypeError("vars() argument must have attributes of its own (no __slots__)") from None
    if _MARK not in "".join(found):  # no private name, as mostly
        return _copied(found)
    return {names.shown(name): value for name, value in found.items()}


_attributes, _copied = object.__getattribute__, dict.copy


def dir_(*args: Any) -> list[str]:
    """The builtin `dir` for one object: its names without those of the language."""
    if len(args) != 1:
        raise TypeError("dir() needs an object")
    return sorted({names.shown(name) for name in dir(args[0]) if not name.startswith("_") or name in names.LIBRARY})


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
