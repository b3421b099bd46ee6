"""Tools for functions and classes: ``functools``, ``contextlib``, ``abc``, ``types``, ``inspect``."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.forms import Form
from metagym.sandbox.facades.names import read, written_by_program, written_name

# --- functools


def wraps(wrapped: Any, assigned: Any = None, updated: Any = None) -> Callable[[Any], Any]:
    """``functools.wraps`` for functions of the program; which attributes are copied cannot be chosen."""
    return lambda wrapper: update_wrapper(wrapper, wrapped)


def update_wrapper(wrapper: Any, wrapped: Any, assigned: Any = None, updated: Any = None) -> Any:
    """``functools.update_wrapper``; a wrapper that is no function of the program stays as it is."""
    if isinstance(wrapper, types.FunctionType) and written_by_program(wrapper):
        if isinstance(wrapped, types.FunctionType):
            functools.update_wrapper(wrapper, wrapped)
        else:  # an object may carry anything under the name of the annotations, which singledispatch evaluates
            functools.update_wrapper(wrapper, wrapped, ("__name__", "__qualname__", "__doc__"), ())
    return wrapper


class cached_property:  # noqa: N801  (the name of the real class)
    """``functools.cached_property``; the name under which it keeps its value is the one in the class and no other."""

    _kept_as = ""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = func
        self.attrname: str | None = None
        self.__doc__ = func.__doc__

    def __set_name__(self, owner: Any, name: str) -> None:
        """Learns its name."""
        if name.startswith("__"):
            raise TypeError(f"cached_property cannot be called {name}")
        self._kept_as = self.attrname = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The value, computed at the first use."""
        if instance is None:
            return self
        if not self._kept_as:
            raise TypeError("Cannot use cached_property instance without calling __set_name__ on it.")
        kept = instance.__dict__
        if self._kept_as not in kept:
            kept[self._kept_as] = self.func(instance)
        return kept[self._kept_as]

    def __class_getitem__(cls, item: Any) -> Any:
        """The class itself."""
        return cls


def total_ordering(cls: Any) -> Any:
    """``functools.total_ordering`` for classes of the program.

    Raises:
        TypeError: It is another class.
    """
    if not written_by_program(cls):
        raise TypeError("total_ordering decorates classes of the program only")
    return functools.total_ordering(cls)


_CALLS = "calls the functions it is given and keeps what they return"

FUNCTOOLS = (
    Table("functools")
    .real(_CALLS, "cache cmp_to_key lru_cache partial partialmethod reduce singledispatch singledispatchmethod")
    .ours("keeps a value in the instance under the method's own name", cached_property=cached_property)
    .ours(
        "they change functions and classes of the program only",
        wraps=wraps,
        update_wrapper=update_wrapper,
        total_ordering=total_ordering,
    )
    .real("constants", "WRAPPER_ASSIGNMENTS WRAPPER_UPDATES")
)

# --- contextlib

CONTEXTLIB = (
    Table("contextlib")
    .real(
        "runs the program's own context managers",
        "AbstractContextManager ContextDecorator ExitStack closing contextmanager nullcontext suppress",
    )
    .refuse("print is captured already", "redirect_stdout redirect_stderr")
    .refuse("there are no folders", "chdir")
    .refuse(
        "there is no event loop; write it without async",
        "AbstractAsyncContextManager AsyncContextDecorator AsyncExitStack aclosing asynccontextmanager",
    )
)

# --- abc

ABC = (
    Table("abc")
    .real("a base class that asks for the marked methods", "ABC")
    .real("markers of methods", "abstractmethod abstractclassmethod abstractproperty abstractstaticmethod")
    .ours("a call would make a class with any names; as a metaclass it is the same as the base ABC",
          ABCMeta=Form("ABCMeta", __import__("abc").ABCMeta))
    .refuse("it belongs to the library's cache", "get_cache_token update_abstractmethods")
)  # fmt: skip

# --- types


def _fields_of(mappings: tuple[Any, ...], values: dict[str, Any]) -> dict[str, Any]:
    for mapping in mappings:
        values = {**mapping, **values}
    for name in values:
        if type(name) is not str or name.startswith("__"):
            raise TypeError(f"{name!r:.80} is no field name")
    return values


def namespace(*mappings: Any, **values: Any) -> types.SimpleNamespace:
    """``types.SimpleNamespace(...)``; names with two leading underscores, which the library would call, are refused."""
    return types.SimpleNamespace(**_fields_of(mappings, values))


class _NamespaceBase(types.SimpleNamespace):
    """``types.SimpleNamespace`` as a base class."""

    def __init__(self, *mappings: Any, **values: Any) -> None:
        super().__init__(**_fields_of(mappings, values))


def _bind(function: Any, instance: Any) -> Any:
    if not callable(function) or instance is None:
        raise TypeError("MethodType(function, instance) binds a function to an instance")
    return types.MethodType(function, instance)


_FOR_ISINSTANCE = (
    "FunctionType LambdaType BuiltinFunctionType BuiltinMethodType GeneratorType ModuleType MethodWrapperType "
    "MappingProxyType UnionType GenericAlias CoroutineType TracebackType"
)

TYPES = (
    Table("types")
    .ours(
        "fields of a record; no field has the name of a hook",
        SimpleNamespace=Form("types.SimpleNamespace", types.SimpleNamespace, base=_NamespaceBase, call=namespace),
    )
    .ours(
        "for isinstance; a call would build functions, modules or tracebacks",
        **{
            name: Form(f"types.{name}", getattr(types, name))
            for name in _FOR_ISINSTANCE.split()
            if name != "MappingProxyType"
        },
        MethodType=Form("types.MethodType", types.MethodType, call=_bind),
    )
    .real("a read-only view of a mapping that the program has", "MappingProxyType")
    .real("the types of constants", "NoneType EllipsisType NotImplementedType")
    .refuse("it makes classes from data; write a class statement", "new_class prepare_class resolve_bases")
    .refuse("it makes classes from data; write a class statement", "get_original_bases coroutine")
    .refuse("use property", "DynamicClassAttribute")
    .refuse(
        "the interpreter's own types are not offered",
        "CodeType FrameType CellType CapsuleType AsyncGeneratorType ClassMethodDescriptorType GetSetDescriptorType "
        "MemberDescriptorType MethodDescriptorType WrapperDescriptorType",
    )
)

# --- inspect


class _Empty:
    """``inspect.Parameter.empty``: there is none."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function, as ``inspect.Parameter`` tells it; annotations are not kept."""

    name: str
    kind: Any
    default: Any = _Empty
    annotation: Any = _Empty

    empty = _Empty
    POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
    POSITIONAL_OR_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD
    VAR_POSITIONAL = inspect.Parameter.VAR_POSITIONAL
    KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
    VAR_KEYWORD = inspect.Parameter.VAR_KEYWORD


@dataclass(frozen=True)
class Signature:
    """The parameters of a function, as ``inspect.Signature`` tells them."""

    parameters: Mapping[str, Parameter]
    return_annotation: Any = _Empty
    text: str = "()"

    empty = _Empty

    def __str__(self) -> str:
        """As in the library."""
        return self.text


def signature(obj: Any) -> Signature:
    """``inspect.signature`` of a function, method or class.

    Raises:
        TypeError: It cannot be called.
        ValueError: It tells nothing about its parameters.
    """
    if not callable(obj):
        raise TypeError(f"{type(obj).__name__} object is not callable")
    function = inspect.unwrap(obj)
    known = written_by_program(getattr(function, "__func__", function)) or written_by_program(type(function))
    if isinstance(function, type) and known and not _starts_itself(function):
        return Signature(types.MappingProxyType({}))  # the library would evaluate what stands in the docstring
    found = inspect.signature(function)
    ours = {
        each.name: Parameter(each.name, each.kind, _default(each.default, known), _annotation(each.annotation, known))
        for each in found.parameters.values()
    }
    shown = ", ".join(_declared(each) for each in ours.values())
    return Signature(types.MappingProxyType(ours), _annotation(found.return_annotation, known), f"({shown})")


def _starts_itself(cls: type) -> bool:
    """Whether a class, or a base of it, has its parameters in a function."""
    return any(
        isinstance(base.__dict__.get(name), (types.FunctionType, staticmethod))
        for base in cls.__mro__
        for name in ("__init__", "__new__")
    )


def _annotation(value: Any, known: bool) -> Any:
    return _Empty if value is inspect.Parameter.empty or not known else value


_PLAIN = (type(None), bool, int, float, str, bytes)


def _default(value: Any, known: bool) -> Any:
    """A default as the program wrote it; of the library's functions only plain values, as others may be modules."""
    if value is inspect.Parameter.empty:
        return _Empty
    return value if known or type(value) in _PLAIN else Ellipsis


def _declared(parameter: Parameter) -> str:
    stars = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    return f"{stars}{parameter.name}" + ("" if parameter.default is _Empty else "=...")


def getmembers(object: Any, predicate: Callable[[Any], Any] | None = None) -> list[tuple[str, Any]]:
    """``inspect.getmembers`` without the names that begin with two underscores.

    Args:
        object: Any object or class.
        predicate: Keeps only members for which it is true.

    Returns:
        Names and values by name; what no program may read is left out.
    """
    found = []
    for name in sorted({written_name(name) for name in dir(object)}):
        if not name.startswith("__"):
            try:
                value = read(object, name)
            except (AttributeError, TypeError):
                continue
            if predicate is None or predicate(value):
                found.append((name, value))
    return found


INSPECT = (
    Table("inspect")
    .ours("reads what getattr would", getmembers=getmembers)
    .ours("plain records of names and defaults", signature=signature, Signature=Signature, Parameter=Parameter)
    .real(
        "looks at the type of its argument",
        "isabstract isbuiltin isclass isfunction isgenerator isgeneratorfunction ismethod isroutine iscoroutine "
        "iscoroutinefunction isawaitable isdatadescriptor ismethoddescriptor ismodule",
    )
    .real("the text that was written", "getdoc cleandoc")
    .refuse(
        "frames and source are not offered; use getmembers(obj), vars(obj) or dir(obj)",
        "currentframe stack trace getsource getsourcelines getsourcefile getfile getmodule "
        "getmembers_static "
        "getattr_static getframeinfo getouterframes getinnerframes getclosurevars getgeneratorlocals "
        "getcallargs getmro "
        "getfullargspec getargvalues unwrap get_annotations",
    )
    .rest("frames and source are not offered; use getmembers(obj), vars(obj) or dir(obj)")
)

TABLES = (FUNCTOOLS, CONTEXTLIB, ABC, TYPES, INSPECT)
