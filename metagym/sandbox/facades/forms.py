"""Types that a program may name but not use: inert stand-ins for what annotations and ``isinstance`` mention."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from typing import Any, NoReturn


class Form:
    """A name that stands for a type: it can be subscripted, joined by ``|``, given to ``isinstance``, and no more.

    Args:
        name: How it prints.
        origin: The type behind it for ``isinstance``; None where the question makes no sense.
        base: What it stands for as a base class; the origin where that may be subclassed, None if not.
        call: What a call does; None refuses it.
        args: What stood in its brackets.
        of: The form that was subscripted.
    """

    __slots__ = ("__args__", "__base__", "__call", "__name__", "__of__", "__type__")
    __name__: str
    __args__: tuple[Any, ...]
    __base__: type | None
    __of__: Form | None
    __type__: Any
    __call: Callable[..., Any] | None

    def __init__(
        self,
        name: str,
        origin: type | tuple[type, ...] | None = None,
        *,
        base: type | None = None,
        call: Callable[..., Any] | None = None,
        args: tuple[Any, ...] = (),
        of: Form | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "__name__", name)
        put(self, "__type__", origin)
        put(self, "__base__", base)
        put(self, "__args__", args)
        put(self, "__of__", of)
        put(self, "_Form__call", call)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuses: it is read-only."""
        raise AttributeError(f"{self.__name__} is read-only")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __getitem__(self, item: Any) -> Any:
        """A form of the same type."""
        args = item if isinstance(item, tuple) else (item,)
        if self is UNION:
            return union(*args)
        if self is OPTIONAL:
            return union(*args, None)
        inner = ", ".join(map(_shown, args))
        name = f"{self.__name__}[{inner}]"[:200]
        return Form(name, self.__type__, base=self.__base__, call=self.__call, args=args, of=self)

    def __or__(self, other: Any) -> Form:
        """A form for either."""
        return union(self, other)

    def __ror__(self, other: Any) -> Form:
        """A form for either."""
        return union(other, self)

    def __instancecheck__(self, value: Any) -> bool:
        """Asks the type it stands for."""
        if self.__type__ is None:
            raise TypeError(f"{self.__name__} cannot be used with isinstance()")
        return isinstance(value, self.__type__)

    def __subclasscheck__(self, kind: Any) -> bool:
        """Asks the type it stands for."""
        if self.__type__ is None:
            raise TypeError(f"{self.__name__} cannot be used with issubclass()")
        return issubclass(kind, self.__type__)

    def __eq__(self, other: object) -> Any:
        """Equal to the type it stands for, so that ``type(x) == np.ndarray`` tells what the author means."""
        if isinstance(other, Form):
            return self.__name__ == other.__name__ and self.__args__ == other.__args__
        return other == self.__type__ if isinstance(other, type) else NotImplemented

    def __hash__(self) -> int:
        """Equal to that of the type it stands for."""
        return hash(self.__name__ if self.__type__ is None else self.__type__)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """What stands in its place among the bases of a class."""
        if self.__base__ is None:
            raise TypeError(f"{self.__name__} cannot be a base class here")
        there = self.__base__ is object or any(base is self.__base__ for base in bases)
        return () if there else (self.__base__,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Does what a call of it is said to do, or refuses."""
        if self.__call is None:
            raise TypeError(f"{self.__name__} cannot be called here: it only names a type")
        return self.__call(*args, **kwargs)

    def __repr__(self) -> str:
        """As the real one prints."""
        return self.__name__

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuses: it cannot be copied or pickled."""
        raise TypeError(f"{self.__name__} cannot be copied")

    def __copy__(self) -> Form:
        """Itself."""
        return self

    def __deepcopy__(self, memo: Any) -> Form:
        """Itself."""
        return self


def _shown(part: Any) -> str:
    if isinstance(part, list):
        return "[" + ", ".join(map(_shown, part)) + "]"
    name = getattr(part, "__name__", None)
    return str(name) if isinstance(part, (type, Form)) else repr(part) if isinstance(part, (str, int)) else "..."


UNION = Form("typing.Union")
OPTIONAL = Form("typing.Optional")


def union(*parts: Any) -> Any:
    """``Union[...]`` and ``X | Y``: one form for several, without repetitions; of a single type, that type."""
    members: list[Any] = []
    for part in parts:
        inner = part.__args__ if isinstance(part, Form) and part.__of__ is UNION else (part,)
        members += [type(None) if each is None else each for each in inner]
    members = [each for at, each in enumerate(members) if not any(each == before for before in members[:at])]
    if len(members) == 1:
        return members[0]
    kinds: list[Any] = []
    for each in members:
        kind = each.__type__ if isinstance(each, Form) else each
        kinds += kind if isinstance(kind, tuple) else [kind]
    origin = tuple(kinds) if all(isinstance(kind, type) for kind in kinds) else None
    return Form(f"typing.Union[{', '.join(map(_shown, members))}]"[:200], origin, args=tuple(members), of=UNION)


def get_args(tp: Any) -> tuple[Any, ...]:
    """``typing.get_args``: what stood in the brackets of a type."""
    if not isinstance(tp, Form):
        return typing.get_args(tp) if isinstance(tp, _ALIASES) else ()
    args = tp.__args__
    if len(args) == 2 and isinstance(args[0], list):  # Callable[[int], str]
        return (list(args[0]), args[1])
    return args


def get_origin(tp: Any) -> Any:
    """``typing.get_origin``: the type, or the form of ``typing``, before the brackets; None where there are none."""
    if not isinstance(tp, Form):
        return typing.get_origin(tp) if isinstance(tp, _ALIASES) else None
    if tp.__of__ is None:
        return None
    return tp.__of__.__type__ if isinstance(tp.__of__.__type__, type) else tp.__of__


_ALIASES = (types.GenericAlias, types.UnionType)
