"""What a program gets when it imports: an immutable object with a closed list of names, each with its reason.

A `Facade` stands in place of a module. Its names live in a class of its own, so that it has no ``__dict__``, nothing
can be set on it and reading it costs what reading a module costs; names that belong to one session (random
generators) are looked up in the session. A `Table` is the data it is made from: which public names of the real module
are passed on, which are ours, which are refused and what to write instead.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from metagym.sandbox.facades.session import Session

_SHARED_AND_MUTABLE = (list, dict, set, bytearray)


class Facade:
    """Stands for one module: names can be read and nothing else (see `Table`)."""

    __slots__ = ()
    __facade__: str = ""
    __names__: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuses: it is read-only."""
        raise AttributeError(f"{self.__facade__}.{name} cannot be set: an imported module is read-only")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuses: it is read-only."""
        raise AttributeError(f"{self.__facade__}.{name} cannot be deleted: an imported module is read-only")

    def __dir__(self) -> list[str]:
        """The names it offers."""
        return list(self.__names__)

    def __repr__(self) -> str:
        """As the real one prints."""
        return f"<module {self.__facade__!r}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuses: it cannot be copied or pickled."""
        raise TypeError(f"the module {self.__facade__} cannot be copied or pickled")


class _Lazy:
    """A name made at its first use in a session, by ``make(session)``, and kept there."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[Session], Any]) -> None:
        self.make = make

    def __get__(self, facade: Any, owner: Any = None) -> Any:
        return self if facade is None else facade.__session__.once(self.make)


@dataclass(frozen=True)
class Entry:
    """One exported name.

    Attributes:
        reason: Why a hostile caller gains nothing by it.
        kind: ``"real"`` (the object of the real module), ``"ours"``, ``"lazy"`` or ``"eager"`` (made per session).
        value: The object for ``"ours"``, the maker for ``"lazy"``.
        newer: A real name that some supported Pythons lack.
    """

    reason: str
    kind: str
    value: Any = None
    newer: bool = False


class Table:
    """The names of one module, judged: passed on, ours, made per session, or refused.

    Args:
        module: The name a program imports.
        real: The real module whose names are meant; the same name by default, ``""`` for a module of ours.
        numpy: Whether it is offered only where numpy is.
    """

    def __init__(self, module: str, *, real: str | None = None, numpy: bool = False) -> None:
        self.module, self.numpy = module, numpy
        self.source = module if real is None else real
        self.entries: dict[str, Entry] = {}
        self.refused: dict[str, str] = {}
        self.others = ""
        self.fill: Callable[[Session], Iterable[Any]] | None = None

    def real(self, reason: str, names: str, *, newer: bool = False) -> Table:
        """Passes on `names` (separated by blanks) of the real module; `newer` ones may be absent there."""
        return self._put({name: Entry(reason, "real", newer=newer) for name in names.split()})

    def ours(self, reason: str, **values: Any) -> Table:
        """Offers objects of ours under the given names."""
        return self._put({name: Entry(reason, "ours", value) for name, value in values.items()})

    def lazy(self, reason: str, **makers: Callable[[Session], Any]) -> Table:
        """Offers names that are made at their first use in each session."""
        return self._put({name: Entry(reason, "lazy", make) for name, make in makers.items()})

    def eager(self, reason: str, names: str, fill: Callable[[Session], Iterable[Any]]) -> Table:
        """Offers names that are made when a session starts; ``fill(session)`` gives their values in this order."""
        self.fill = fill
        return self._put({name: Entry(reason, "eager") for name in names.split()})

    def refuse(self, hint: str, names: str) -> Table:
        """Refuses `names` of the real module; `hint` tells the author of a program what to write instead."""
        self.refused.update(dict.fromkeys(names.split(), hint))
        return self

    def rest(self, hint: str) -> Table:
        """Refuses every other name of the real module, for the reason that `hint` gives."""
        self.others = hint
        return self

    def _put(self, entries: Mapping[str, Entry]) -> Table:
        for name in entries:
            if name in self.entries or name in self.refused:
                raise ValueError(f"{self.module}.{name} stands twice in its table")
        self.entries.update(entries)
        return self

    @property
    def bound(self) -> bool:
        """Whether the facade belongs to one session."""
        return any(entry.kind in ("lazy", "eager") for entry in self.entries.values())

    def exported(self) -> frozenset[str]:
        """The names a program may read, without those of newer Pythons that this one lacks."""
        absent = {name for name, entry in self.entries.items() if entry.newer and not hasattr(self._real(), name)}
        return frozenset(self.entries) - absent

    def _real(self) -> ModuleType:
        return importlib.import_module(self.source or "__future__")

    def unjudged(self) -> frozenset[str]:
        """The public names of the real module that the table neither offers nor refuses: none, if it is complete."""
        if not self.source or self.others:
            return frozenset()
        real = self._real()
        public = getattr(real, "__all__", None) or [name for name in dir(real) if not name.startswith("_")]
        return frozenset(
            name
            for name in public
            if name not in self.entries
            and name not in self.refused
            and not name.startswith("__")
            and not isinstance(getattr(real, name), ModuleType)
        )

    def value(self, name: str) -> Any:
        """The object behind a name that all sessions share."""
        entry = self.entries[name]
        return getattr(self._real(), name) if entry.kind == "real" else entry.value

    def kind(self, children: Mapping[str, Facade | None]) -> type[Facade]:
        """Makes the class of the facade.

        Args:
            children: Submodules by their last name; None for one that each session has anew.

        Raises:
            ValueError: A name holds a module or a shared mutable object: the table is wrong.
        """
        names = self.exported()
        members: dict[str, Any] = {}
        slots = [name for name, child in children.items() if child is None]
        for name in names - set(children):
            entry = self.entries[name]
            if entry.kind == "eager":
                slots.append(name)
            elif entry.kind == "lazy":
                members[name] = _Lazy(entry.value)
            else:
                value = self.value(name)
                if isinstance(value, (ModuleType, *_SHARED_AND_MUTABLE)):
                    raise ValueError(f"{self.module}.{name} is a {type(value).__name__}: no facade may hold one")
                members[name] = staticmethod(value) if hasattr(type(value), "__get__") else value
        members.update({name: child for name, child in children.items() if child is not None})
        if slots or any(isinstance(member, _Lazy) for member in members.values()):
            slots.append("__session__")
        members |= {
            "__slots__": tuple(slots),
            "__facade__": self.module,
            "__names__": tuple(sorted(names | set(children))),
            "__module__": "metagym.sandbox",
        }
        return type(f"module {self.module}", (Facade,), members)

    def hint(self, name: str) -> str:
        """What to write instead of a name that is not offered (one sentence, for the author of a program)."""
        if name in self.refused:
            return f"{self.module}.{name} is not offered: {self.refused[name]}"
        if self.others and hasattr(self._real(), name):
            return f"{self.module}.{name} is not offered: {self.others}"
        if name in self.entries:
            return f"{self.module}.{name} is not in the Python that runs here; write a function of your own"
        close = difflib.get_close_matches(name, sorted(self.exported()), n=3)
        instead = f"did you mean {' or '.join(close)}?" if close else f"it offers {_some(sorted(self.exported()))}"
        return f"{self.module} has no {name!r} here; {instead}"


def _some(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def bind_facade(kind: type[Facade], session: Session, values: Mapping[str, Any]) -> Facade:
    """Makes the facade of one session: `kind` with its session and the values of its own names filled in."""
    facade = kind()
    put = object.__setattr__
    put(facade, "__session__", session)
    for name, value in values.items():
        put(facade, name, value)
    return facade
