"""``typing`` and ``typing_extensions``: everything ordinary code names, as inert objects.

Annotations are never evaluated, so nothing has to come of these names: they are subscripted into type aliases, stand
as bases of classes and are asked by ``isinstance``. The real objects compile text (``List["x"]``), forward attributes
to the types behind them and look for their caller's frame; ours do nothing.
"""

from __future__ import annotations

import abc
import collections
import collections.abc
import contextlib
import re
from typing import Any, NoReturn

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.forms import OPTIONAL, UNION, Form, get_args, get_origin
from metagym.sandbox.facades.names import written_by_program
from metagym.sandbox.facades.records import NamedTupleForm


def _same(value: Any, *_: Any) -> Any:
    return value


def cast(typ: Any, val: Any) -> Any:
    """Gives `val` back."""
    return val


def overload(func: Any) -> Any:
    """Gives a placeholder: the last definition, without this decorator, is the function."""

    def placeholder(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("call the implementation, not an overload")

    return placeholder


def assert_never(arg: Any, /) -> NoReturn:
    """Raises: the place should not be reached."""
    raise AssertionError("Expected code to be unreachable")


def decorator_with(*_: Any, **__: Any) -> Any:
    """Gives a decorator that changes nothing."""
    return _same


def get_type_hints(obj: Any, globalns: Any = None, localns: Any = None, include_extras: bool = False) -> dict[str, Any]:
    """``typing.get_type_hints`` of a function or class of the program: the annotations that were kept.

    Nothing is evaluated: an annotation that is text, or that was not kept, is `object`.
    """
    kinds = reversed(obj.__mro__) if isinstance(obj, type) else (getattr(obj, "__func__", obj),)
    found: dict[str, Any] = {}
    for kind in kinds:
        if written_by_program(kind):
            found |= kind.__dict__.get("__annotations__", {}) if isinstance(kind, type) else kind.__annotations__
    return {name: _hint(kind, include_extras) for name, kind in found.items()}


def _hint(kind: Any, include_extras: bool) -> Any:
    if kind is None or isinstance(kind, str):
        return type(None) if kind is None else object
    origin = kind.__of__ if isinstance(kind, Form) else None
    if origin is not None and origin.__name__ == "typing.Annotated" and not include_extras:
        return kind.__args__[0]
    return kind


def new_type(name: str, tp: Any = None) -> Form:
    """``typing.NewType``: a callable that gives its argument back."""
    return Form(str(name), call=_same)


def type_var(name: str, *_: Any, **__: Any) -> Form:
    """``typing.TypeVar`` and its brothers: a name without meaning at run time."""
    return Form(f"~{name}")


class Generic:
    """``typing.Generic``: a base class that can be subscripted."""

    __slots__ = ()

    def __class_getitem__(cls, item: Any) -> Any:
        """The class itself."""
        return cls


class _ProtocolType(abc.ABCMeta):
    def __instancecheck__(cls, value: Any) -> bool:
        if super().__instancecheck__(value):
            return True
        members = cls.__dict__.get("__protocol_members__") or ()
        return bool(members) and all(hasattr(value, name) for name in members)

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **_: Any) -> None:
        super().__init__(name, bases, body)
        if any(base.__dict__.get("__protocol_base__") for base in bases):
            inherited = {m for base in bases for m in base.__dict__.get("__protocol_members__", ())}
            names = {*body, *body.get("__annotations__", ())}
            own = {name for name in names if not name.startswith("__") or name in ("__len__", "__iter__", "__call__")}
            cls.__protocol_members__ = frozenset(inherited | own)


class Protocol(metaclass=_ProtocolType):
    """``typing.Protocol``: ``isinstance`` asks for the members that the direct subclass names."""

    __protocol_base__ = True

    def __class_getitem__(cls, item: Any) -> Any:
        """The class itself."""
        return cls


class _TypedDictType(type):
    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **_: Any) -> Any:
        return super().__new__(mcs, name, tuple(base for base in bases if base is not Generic) or (dict,), body)

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **_: Any) -> None:
        super().__init__(name, bases, body)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return dict(*args, **kwargs)


class _TypedDictBase(dict, metaclass=_TypedDictType):
    pass


def _typed_dict(name: str, fields: Any = None, /, **_: Any) -> Form:
    return Form(str(name), call=dict)


def _origins(**origins: Any) -> dict[str, Form]:
    return {name: Form(f"typing.{name}", origin, base=origin) for name, origin in origins.items()}


_ABSTRACT = (
    "Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView "
    "MutableMapping MutableSequence MutableSet Reversible Sequence Sized ValuesView AsyncGenerator AsyncIterable "
    "AsyncIterator Awaitable Coroutine"
)
_FORMS = (
    "Any Literal LiteralString Final ClassVar Annotated NoReturn Never Self Concatenate Unpack Required "
    "NotRequired ReadOnly TypeAlias TypeGuard TypeIs TypeForm NoDefault IO TextIO BinaryIO"
)


def _asks_for(method: str) -> type:
    return type(method, (abc.ABC,), {"__subclasshook__": classmethod(lambda _, kind: hasattr(kind, method))})


_SUPPORTS = {
    f"Supports{name}": Form(f"typing.Supports{name}", _asks_for(f"__{name.lower()}__"))
    for name in ("Int", "Float", "Complex", "Bytes", "Index", "Abs", "Round")
}

_NAMES: dict[str, Any] = {
    **{name: Form(f"typing.{name}") for name in _FORMS.split()},
    **_origins(**{name: getattr(collections.abc, name) for name in _ABSTRACT.split()}),
    **_origins(
        AbstractSet=collections.abc.Set,
        List=list,
        Dict=dict,
        Tuple=tuple,
        Set=set,
        FrozenSet=frozenset,
        Type=type,
        Deque=collections.deque,
        DefaultDict=collections.defaultdict,
        OrderedDict=collections.OrderedDict,
        Counter=collections.Counter,
        ChainMap=collections.ChainMap,
        ContextManager=contextlib.AbstractContextManager,
        AsyncContextManager=contextlib.AbstractAsyncContextManager,
        Pattern=re.Pattern,
        Match=re.Match,
    ),
    **_SUPPORTS,
    "Any": Form("typing.Any", base=object),
    "Type": Form("typing.Type", type),
    "Union": UNION,
    "Optional": OPTIONAL,
    "get_args": get_args,
    "get_origin": get_origin,
    "get_type_hints": get_type_hints,
    "Text": str,
    "ByteString": Form("typing.ByteString", (bytes, bytearray)),
    "AnyStr": Form("~AnyStr"),
    "TypeVar": type_var,
    "ParamSpec": type_var,
    "TypeVarTuple": type_var,
    "TypeAliasType": type_var,
    "NewType": new_type,
    "Generic": Generic,
    "Protocol": Protocol,
    "NamedTuple": NamedTupleForm(),
    "TypedDict": Form("typing.TypedDict", base=_TypedDictBase, call=_typed_dict),
    "cast": cast,
    "overload": overload,
    "final": _same,
    "override": _same,
    "no_type_check": _same,
    "no_type_check_decorator": _same,
    "runtime_checkable": _same,
    "runtime": _same,
    "dataclass_transform": decorator_with,
    "deprecated": decorator_with,
    "assert_never": assert_never,
    "assert_type": _same,
    "reveal_type": _same,
    "TYPE_CHECKING": False,
}

_HINT = "little of an annotation is kept; keep types in a dict of your own"
_WHY = "inert: it names a type and does nothing"
_REFUSED = "get_overloads clear_overloads get_protocol_members evaluate_forward_ref"

TABLES = tuple(
    Table(name, real="")
    .ours(_WHY, **_NAMES)
    .refuse(_HINT, f"{_REFUSED} ForwardRef is_typeddict is_protocol ParamSpecArgs ParamSpecKwargs")
    for name in ("typing", "typing_extensions")
)
