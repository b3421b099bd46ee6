"""What programs may import: every name judged, every module an immutable `Facade`.

    session = bind(seed)              # one per session of a program
    session.modules["random"]         # what ``import random`` binds
    session.reseed(seed)              # before each reset

Names are listed in tables, one per module, each group with its reason: ask of each what its code does with plain data
from a hostile caller. A name stays out, or is ours, if its code holds or returns modules, frames or builtins, looks
attributes up by a text, evaluates or compiles text, builds classes from data, calls hooks, opens files, reads a clock
or the machine's entropy, or trusts sizes or addresses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from metagym.sandbox.facades import library
from metagym.sandbox.facades.facade import Facade, Table, bind_facade
from metagym.sandbox.facades.library import NARROW, SETTABLE_TYPES
from metagym.sandbox.facades.names import (
    GUARDED_ATTRIBUTES,
    PRIVATE_PREFIX,
    PROGRAM_MODULE,
    UNREADABLE,
    read_guarded,
)
from metagym.sandbox.facades.refusals import module_hint
from metagym.sandbox.facades.session import Session

__all__ = [
    "GUARDED_ATTRIBUTES",
    "NARROW",
    "PRIVATE_PREFIX",
    "PROGRAM_MODULE",
    "SETTABLE_TYPES",
    "UNREADABLE",
    "Facade",
    "Session",
    "Table",
    "bind",
    "exported",
    "hint",
    "modules",
    "read_guarded",
    "warm_up",
]


class _Library:
    """The facades of one choice (with numpy or without): what is shared, and how the rest is made per session."""

    def __init__(self, numpy: bool) -> None:
        self.tables = {table.module: table for table in library.tables(numpy)}
        self.names: dict[str, frozenset[str]] = {}
        self.shared: dict[str, Facade] = {}
        self.recipes: dict[str, _Recipe] = {}
        for module in sorted(self.tables, key=lambda name: -name.count(".")):  # children first
            table = self.tables[module]
            below = [name for name in self.tables if name.rpartition(".")[0] == module]
            children = {name.rpartition(".")[2]: self.shared.get(name) for name in below}
            kind = table.kind(children)
            self.names[module] = table.exported() | set(children)
            if table.bound or None in children.values():
                own = tuple((name, f"{module}.{name}") for name, child in children.items() if child is None)
                eager = tuple(name for name, entry in table.entries.items() if entry.kind == "eager")
                self.recipes[module] = kind, own, eager, table.fill
            else:
                self.shared[module] = kind()
        self.aliases = {
            alias + name.removeprefix(module): name
            for alias, module in library.ALIASES.items()
            for name in self.tables
            if name == module or name.startswith(module + ".")
        }
        self.names |= {alias: self.names[name] for alias, name in self.aliases.items()}


_Recipe = tuple[type[Facade], tuple[tuple[str, str], ...], tuple[str, ...], Any]
"""Of a facade that each session has anew: class, children, eager names and what fills them."""


class _Modules(Mapping[str, Facade]):
    """All facades of a session: the shared ones, and its own, each made when it is asked for.

    A program imports few modules; to make all of them was half of a session's start and of the memory it touched.
    """

    __slots__ = ("__library", "__made", "__session")

    def __init__(self, library: _Library, session: Session) -> None:
        self.__library, self.__session = library, session
        self.__made: dict[str, Facade] = {}

    def __getitem__(self, name: str) -> Facade:
        library = self.__library
        name = library.aliases.get(name, name)
        found = library.shared.get(name) or self.__made.get(name)
        return self.__bound(name) if found is None else found

    def __bound(self, name: str) -> Facade:
        kind, children, eager, fill = self.__library.recipes[name]
        values: dict[str, Any] = {child: self[path] for child, path in children}
        if fill is not None:
            values.update(zip(eager, fill(self.__session), strict=True))
        found = self.__made[name] = bind_facade(kind, self.__session, values)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.__library.names)

    def __len__(self) -> int:
        return len(self.__library.names)


@functools.cache
def _library(numpy: bool) -> _Library:
    return _Library(numpy)


def bind(seed: int, *, numpy: bool = True, print_to: Callable[[str], None] | None = None) -> Session:
    """Makes the modules of one session.

    Args:
        seed: The session's seed, any non-negative integer (see `Session.reseed`).
        numpy: Whether numpy is among them.
        print_to: Takes what ``pprint.pprint`` prints.

    Returns:
        The session; its `Session.modules` maps each name that may be imported to its facade.
    """
    session = Session(seed, print_to)
    session.modules = _Modules(_library(bool(numpy)), session)
    return session


def modules(numpy: bool) -> Mapping[str, Facade]:
    """The facades of a session of seed 0, by module name: to look at, not to run programs with."""
    return bind(0, numpy=numpy).modules


def exported(module: str, numpy: bool) -> frozenset[str] | None:
    """The names that `module` offers, its submodules among them; None where it cannot be imported."""
    return _library(bool(numpy)).names.get(module)


def hint(module: str, name: str | None, numpy: bool = True) -> str:
    """One sentence for the author of a program: why a module, or a name of it, is not there, and the way out.

    Args:
        module: The module of the import statement.
        name: The name that is missing in it; None where the module itself is.
        numpy: Whether numpy is offered.
    """
    made = _library(bool(numpy))
    if name is None or module not in made.names:
        return module_hint(module, frozenset(made.names), numpy)
    return made.tables[made.aliases.get(module, module)].hint(name)


def warm_up(numpy: bool) -> None:
    """Builds all facades and runs what the library imports lazily; call it before forking workers."""
    library.warm_up(numpy)
    session = bind(0, numpy=numpy)
    for facade in session.modules.values():
        for name in dir(facade):
            getattr(facade, name)
