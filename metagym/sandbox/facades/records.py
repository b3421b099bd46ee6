"""Classes that the library builds from names: named tuples, dataclasses and enumerations.

``collections.namedtuple`` and ``dataclasses.dataclass`` write source text from the names they are given and evaluate
it, and the functional form of ``Enum`` makes a class with whatever names stand in a mapping. So each name is checked
before it gets there.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import operator
import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.forms import Form
from metagym.sandbox.facades.names import (
    CHECKED_METHODS,
    GUARDED_ATTRIBUTES,
    PRIVATE_PREFIX,
    PROGRAM_MODULE,
    UNREADABLE,
    field_name,
    written_by_program,
    written_name,
)

_TUPLE_HELPERS = ("_make", "_replace", "_asdict", "_fields", "_field_defaults")


def namedtuple(
    typename: str, field_names: str | Iterable[str], *, rename: bool = False, defaults: Iterable[Any] | None = None
) -> type:
    """``collections.namedtuple`` of checked names.

    Raises:
        TypeError: A name is no plain identifier.
        ValueError: A name is a keyword or stands twice.
    """
    names = field_names.replace(",", " ").split() if isinstance(field_names, str) else list(field_names)
    names = [field_name(name, "field") if not rename or _is_field(name) else "_" for name in names]
    build: Any = collections.namedtuple
    made: type = build(
        field_name(str(typename).lstrip("_"), "type"), names, rename=rename, defaults=defaults, module=PROGRAM_MODULE
    )
    return _matched_safely(made)


def _is_field(name: Any) -> bool:
    try:
        return bool(field_name(name, "field"))
    except TypeError:
        return False


_NOT_MATCHED = UNREADABLE | frozenset(GUARDED_ATTRIBUTES) | CHECKED_METHODS


def _matched_safely(cls: type) -> type:
    """Lets positional patterns read fields with guarded names under names that only objects of the class have.

    A pattern reads natively, and a class of the program may pass for the class of anything: by `register`, or as a
    structural type. ``case Node(x)`` with a field ``data`` would read the memory of an array.
    """
    args = cls.__dict__.get("__match_args__", ())
    if not _NOT_MATCHED.isdisjoint(args):
        for name in _NOT_MATCHED.intersection(args):
            setattr(cls, f"{PRIVATE_PREFIX}match_{name}", property(operator.attrgetter(name)))
        matched = tuple(f"{PRIVATE_PREFIX}match_{name}" if name in _NOT_MATCHED else name for name in args)
        type.__setattr__(cls, "__match_args__", matched)
    return cls


class _NamedTupleType(type):
    """Turns ``class P(NamedTuple)`` into a named tuple with the methods of its body."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(mcs, name, bases, body)
        fields = [field_name(field, "field") for field in body.get("__annotations__", {})]
        defaults = [field for field in fields if field in body]
        if fields[len(fields) - len(defaults) :] != defaults:
            raise TypeError(f"{name}: a field without a default follows one with a default")
        made: Any = namedtuple(name, fields, defaults=[body[field] for field in defaults])
        for key, value in body.items():
            if key in ("__new__", "__init__", "__slots__", "__getnewargs__", *_TUPLE_HELPERS):
                raise AttributeError(f"a NamedTuple cannot define {key}")
            if key not in fields and key not in ("__annotations__", "__module__", "__qualname__", "__orig_bases__"):
                setattr(made, key, value)
        made.__qualname__ = body.get("__qualname__", name)
        return made


class _NamedTupleBase(metaclass=_NamedTupleType):
    pass


class NamedTupleForm:
    """``typing.NamedTuple``: a base for class statements, and a function that makes a named tuple."""

    __slots__ = ()

    def __call__(self, typename: str, fields: Iterable[tuple[str, Any]] = (), /, **types: Any) -> type:
        """``NamedTuple("P", [("x", int)])``."""
        return namedtuple(typename, [name for name, _ in fields] or list(types))

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """What stands in its place among the bases of a class."""
        return (_NamedTupleBase,)

    def __repr__(self) -> str:
        """As the real one prints."""
        return "typing.NamedTuple"


# --- dataclasses


def _check_dataclass(cls: Any) -> None:
    if not written_by_program(cls):
        raise TypeError("dataclass decorates classes of the program only")
    for base in cls.__mro__:
        for name in base.__dict__.get("__annotations__", ()):
            field_name(name, "field")
        for name, entry in base.__dict__.get("__dataclass_fields__", {}).items():
            if field_name(name, "field") != entry.name:
                raise TypeError(f"the field {name} was renamed")


_FLAGS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen", "match_args", "kw_only", "slots", "weakref_slot")


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """``dataclasses.dataclass`` for classes of the program, with all its options.

    Raises:
        TypeError: A field's name is no plain identifier, or an option is unknown.
    """
    for name in options:
        if name not in _FLAGS:
            raise TypeError(f"dataclass() got an unexpected keyword argument {name!r}")

    def decorate(cls: Any) -> Any:
        _check_dataclass(cls)
        noted = cls.__dict__.get("__annotations__", {})
        for name, kind in list(noted.items()):
            if isinstance(kind, str):
                noted[name] = object  # the library would look the text up in the module
            elif isinstance(kind, Form):
                noted[name] = ClassVar if kind.__name__.startswith("typing.ClassVar") else object
        own_repr = "__repr__" in cls.__dict__
        made: Any = dataclasses.dataclass(cls, **{name: bool(value) for name, value in options.items()})
        if not own_repr and "__repr__" in made.__dict__:
            if any(written_name(entry.name) != entry.name for entry in dataclasses.fields(made)):
                made.__repr__ = reprlib.recursive_repr()(_repr)
        return _matched_safely(made)

    return decorate if cls is None else decorate(cls)


def _repr(instance: Any) -> str:
    """What the library's own ``__repr__`` gives, with private fields as the program spells them."""
    cls = instance.__class__
    shown = [
        f"{written_name(entry.name)}={getattr(instance, entry.name)!r}"
        for entry in dataclasses.fields(cls)
        if entry.repr
    ]
    return f"{cls.__qualname__}({', '.join(shown)})"


def asdict(instance: Any, *, dict_factory: Callable[[list[tuple[str, Any]]], Any] = dict) -> Any:
    """``dataclasses.asdict``; private fields go by the names that the program gave them."""
    return dataclasses.asdict(
        instance, dict_factory=lambda pairs: dict_factory([(written_name(name), value) for name, value in pairs])
    )


def make_dataclass(cls_name: str, fields: Iterable[Any], *, bases: tuple[type, ...] = (), **options: Any) -> Any:
    """``dataclasses.make_dataclass`` from names, (name, type) pairs or (name, type, field) triples."""
    body: dict[str, Any] = {"__annotations__": {}, "__module__": PROGRAM_MODULE}
    for item in fields:
        parts = (item,) if isinstance(item, str) else tuple(item)
        name = field_name(parts[0], "field")
        body["__annotations__"][name] = object
        if len(parts) == 3:
            body[name] = parts[2]
    if not all(isinstance(base, type) and type(base) is type and written_by_program(base) for base in bases):
        raise TypeError("bases must be classes of the program")
    return dataclass(type(field_name(cls_name, "class"), tuple(bases), body), **options)


@dataclasses.dataclass(frozen=True)
class Field:
    """What ``dataclasses.fields`` tells about one field; reading it cannot change the class."""

    name: str
    type: Any
    default: Any
    default_factory: Any
    init: bool
    repr: bool
    hash: bool | None
    compare: bool
    metadata: Mapping[Any, Any]
    kw_only: bool


def fields(class_or_instance: Any) -> tuple[Field, ...]:
    """``dataclasses.fields``: the fields, each as a read-only record."""
    return tuple(
        Field(written_name(entry.name), *_ABOUT_FIELD(entry)) for entry in dataclasses.fields(class_or_instance)
    )


_ABOUT_FIELD = operator.attrgetter(*(entry.name for entry in dataclasses.fields(Field)[1:]))


DATACLASSES = (
    Table("dataclasses")
    .ours(
        "field names are checked: the library evaluates text that is made of them",
        dataclass=dataclass,
        make_dataclass=make_dataclass,
    )
    .ours("read-only records: a field that is renamed later would become text to evaluate", fields=fields, Field=Field)
    .ours("private fields keep the names that the program gave them", asdict=asdict)
    .real("fields of a dataclass, copied", "astuple replace is_dataclass")
    .real("a marker of a field; its name is checked when the class is built", "field InitVar")
    .real("markers and an exception class", "KW_ONLY MISSING FrozenInstanceError")
)

# --- enumerations

_NOTHING: Any = object()


class EnumType(enum.EnumType):
    """The class of enumerations; its functional form takes checked names only."""

    def __call__(cls, value: Any = _NOTHING, names: Any = None, *args: Any, **options: Any) -> Any:
        """``Color(1)`` looks a member up; ``Enum("Color", "RED GREEN")`` makes a new enumeration."""
        if value is _NOTHING:
            raise TypeError(f"{cls.__name__}() needs the value of a member")
        if names is None and not options:
            return super().__call__(value, *args)
        if len(cls.__members__):
            return super().__call__(value, names, *args, **options)
        if args or set(options) - {"start", "type"}:
            raise TypeError("Enum(name, members, start=..., type=...): no other argument is taken")
        return super().__call__(field_name(value, "class"), _members(names), module=PROGRAM_MODULE, **options)


def _members(names: Any) -> Any:
    if isinstance(names, str):
        return [field_name(name, "member") for name in names.replace(",", " ").split()]
    if isinstance(names, Mapping):
        return [(field_name(name, "member"), value) for name, value in names.items()]
    members = list(names)
    if members and isinstance(members[0], str):
        return [field_name(name, "member") for name in members]
    return [(field_name(name, "member"), value) for name, value in members]


class Enum(enum.Enum, metaclass=EnumType):
    """``enum.Enum``."""


class IntEnum(int, enum.ReprEnum, metaclass=EnumType):
    """``enum.IntEnum``."""


class StrEnum(enum.StrEnum, metaclass=EnumType):
    """``enum.StrEnum``."""


class Flag(enum.Flag, metaclass=EnumType):
    """``enum.Flag``."""


class IntFlag(enum.IntFlag, metaclass=EnumType):
    """``enum.IntFlag``."""


def unique(enumeration: Any) -> Any:
    """``enum.unique``: refuses two names for one value."""
    return enum.unique(enumeration)


ENUM = (
    Table("enum")
    .ours(
        "the functional form would make a class with any names; here they are checked",
        Enum=Enum,
        IntEnum=IntEnum,
        StrEnum=StrEnum,
        Flag=Flag,
        IntFlag=IntFlag,
    )
    .ours(
        "for isinstance; a call would make a class",
        EnumMeta=Form("EnumMeta", EnumType),
        EnumType=Form("EnumType", EnumType),
    )
    .ours("looks at the members of a class", unique=unique)
    .real("markers of values", "auto member nonmember")
    .real("a property that lives beside members", "property")
    .real("looks at the members of a class", "verify")
    .real(
        "constants",
        "CONFORM CONTINUOUS EJECT KEEP NAMED_FLAGS STRICT UNIQUE EnumCheck FlagBoundary",
    )
    .refuse("it writes into modules", "global_enum global_enum_repr global_flag_repr global_str")
    .refuse("there is no pickling", "pickle_by_enum_name pickle_by_global_name")
    .refuse("use Enum, IntEnum or StrEnum", "ReprEnum EnumDict")
)

TABLES = (DATACLASSES, ENUM)
