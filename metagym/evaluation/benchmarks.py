"""Benchmarks and suites as data: names of registered families and settings, nothing that is built or imported.

A suite is registered by name, lazily, as families are; plugins register theirs in the same function:

    register_suite("mine", "my_package.suites:mine")     # mine(**options) -> Suite
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from metagym.checks import flag, mapping, number, settle, shown, whole
from metagym.errors import BadInput, MetaGymError, UnknownName
from metagym.strictjson import plain_json

if TYPE_CHECKING:
    from metagym.evaluation.run import Entrant

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@:=-]{0,79}")
"""What benchmarks and models may be called: names stand in keys of records, between slashes."""

PLACES = ("data", "valid", "test", "searcher", "path", "folder", "games", "stand_in")
"""Options of families that name a place on this machine. What lies there is told by the family's `versions`, so that
two machines with equal files in different folders can be compared; and what a scripted stand-in does, which is a matter
of the model."""


def check_name(what: str, name: Any) -> str:
    """A usable name.

    Raises:
        BadInput: It is none.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise BadInput(f"the name of a {what} is made of letters, digits and . _ + @ : = -, got {shown(name)}")
    return name


@dataclass(frozen=True)
class Sampling:
    """How answers are sampled.

    Attributes:
        temperature: >= 0.
        max_tokens: Longest reply.
        top_p: In (0, 1]; None leaves it to the model.
        top_k: >= 1; None leaves it to the model.
    """

    temperature: float = 0.0
    max_tokens: int = 4096
    top_p: float | None = None
    top_k: int | None = None

    def __post_init__(self) -> None:
        """Checks the ranges."""
        settle(self, "temperature", number, 0)
        settle(self, "max_tokens", whole, 1)
        settle(self, "top_p", number, 0, 1, above=True, none=True)
        settle(self, "top_k", whole, 1, none=True)

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Benchmark:
    """What is played, how often, and how it is asked; all of it JSON.

    Attributes:
        name: E.g. ``aime25``; see `NAME`.
        family: Name of a registered family. One episode is one sample of one task.
        options: Keyword arguments of the family's factory.
        split: None takes the family's last, which is its held-out one.
        types: Only these task types; None takes all.
        limit: At most so many tasks, spread evenly over the types, the same ones in every run; None takes all.
        samples: Episodes per task.
        max_steps: Cap on the steps of an episode; None takes the family's.
        sampling: See `Sampling`.
        history: Past turns that the model sees; None shows all.
        show_admissible: List the legal actions where the environment has a list.
        not_for: Names of models that do not play it, e.g. since they sit in its other seat.
        places: Options that name a place on this machine, see `PLACES`.
        title: As tables call it; by default the name.
        source: Where it comes from.
        notes: What a reader of its figures must know.
    """

    name: str
    family: str
    options: Mapping[str, Any] = field(default_factory=dict)
    split: str | None = None
    types: tuple[str, ...] | None = None
    limit: int | None = None
    samples: int = 1
    max_steps: int | None = None
    sampling: Sampling = Sampling()
    history: int | None = None
    show_admissible: bool = True
    not_for: tuple[str, ...] = ()
    places: tuple[str, ...] = PLACES
    title: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks the settings that need no family."""
        check_name("benchmark", self.name)
        if not isinstance(self.family, str):
            raise BadInput(f"benchmark {self.name}: a family is named by its registered name, got {shown(self.family)}")
        options = mapping(f"the options of benchmark {self.name}", self.options)
        object.__setattr__(self, "options", plain_json(options, f"benchmark {self.name}: options"))
        if self.types is not None:
            names = (self.types,) if isinstance(self.types, str) else tuple(self.types)
            object.__setattr__(self, "types", names)
        for name in ("not_for", "places", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        settle(self, "limit", whole, 1, none=True)
        settle(self, "samples", whole, 1)
        settle(self, "max_steps", whole, 1, none=True)
        settle(self, "history", whole, 0, none=True)
        settle(self, "show_admissible", flag)

    @property
    def label(self) -> str:
        """How tables call it."""
        return self.title or self.name

    def to_json(self) -> dict[str, Any]:
        """The benchmark as a JSON object."""
        data = asdict(self)
        data["options"] = dict(self.options)
        for name in ("types", "not_for", "places", "notes"):
            data[name] = None if data[name] is None else list(data[name])
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Benchmark:
        """The inverse of `to_json`.

        Raises:
            BadInput: Unknown fields, or values out of range.
        """
        values = mapping("a benchmark", data)
        if unknown := sorted(set(values) - {item.name for item in fields(cls)}):
            raise BadInput(f"a benchmark has no field {unknown[0]!r}; it has {', '.join(f.name for f in fields(cls))}")
        try:
            values["sampling"] = Sampling(**mapping("sampling", values.get("sampling")))
            return cls(**values)
        except TypeError as error:
            raise BadInput(f"not a benchmark: {error}") from error


@dataclass(frozen=True)
class Suite:
    """Benchmarks that are reported together.

    Attributes:
        name: As it is registered.
        title: One line on what it is.
        benchmarks: In the order of the table; names differ.
        left_out: Name to reason, of what belongs to the suite and cannot be played here. Told in every table.
        preset: Name of the preset that is used unless another one is asked for; "" for none.
        notes: What a reader of all its figures must know.
    """

    name: str
    title: str
    benchmarks: tuple[Benchmark, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    preset: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks the names."""
        check_name("suite", self.name)
        object.__setattr__(self, "benchmarks", tuple(self.benchmarks))
        seen: set[str] = set()
        for one in self.benchmarks:
            if one.name in seen:
                raise BadInput(f"suite {self.name} holds two benchmarks called {one.name!r}")
            seen.add(one.name)

    def only(self, names: Sequence[str]) -> Suite:
        """The suite with these benchmarks alone, in its own order.

        Raises:
            UnknownName: One is not in it; the message lists those that are, or says why it is left out.
        """
        there = {one.name for one in self.benchmarks}
        for name in names:
            if name in self.left_out:
                raise UnknownName(f"suite {self.name} cannot play {name!r} here: {self.left_out[name]}")
            if name not in there:
                raise UnknownName(f"suite {self.name} has no benchmark {name!r}; it has {', '.join(sorted(there))}")
        return replace(self, benchmarks=tuple(b for b in self.benchmarks if b.name in names), left_out={})


Factory = Callable[..., Suite]
_suites: dict[str, Factory | str] = {
    **{name: f"metagym.evaluation.suites:{name}" for name in ("reasoning", "qa", "ict", "bfcl", "acebench")},
    "games": "metagym.evaluation.games:games",
}


def register_suite(name: str, factory: Factory | str) -> None:
    """Makes a suite known by name.

    Args:
        name: See `NAME`.
        factory: ``(**options) -> Suite``, as a function or as the text ``"module:function"``, imported when first used.

    Raises:
        BadInput: Another suite has the name, or it is no usable one.
    """
    check_name("suite", name)
    if _suites.get(name, factory) != factory:
        raise BadInput(f"there is a suite {name!r} already: register it under a name of its own")
    _suites[name] = factory


def drop_suite(name: str) -> None:
    """Forgets a suite, e.g. one that a test made known."""
    _suites.pop(name, None)


def suite_names() -> tuple[str, ...]:
    """Names of the registered suites."""
    return tuple(_suites)


def load_suite(name: str, entrants: Sequence[Entrant] | None = None, **options: Any) -> Suite:
    """Builds a registered suite.

    Args:
        name: A registered name.
        entrants: Who will play it, for a suite whose function has a parameter ``entrants``: one in which models meet.
        **options: Keyword arguments of its function.

    Raises:
        UnknownName: No suite of that name; the message lists those that exist.
        BadInput: It does not take one of the options, cannot be imported, or is no suite.
    """
    if name not in _suites:
        raise UnknownName(f"no suite {name!r}; there are {', '.join(sorted(_suites))}")
    factory = _suites[name]
    if isinstance(factory, str):
        module, _, attribute = factory.partition(":")
        try:
            factory = getattr(import_module(module), attribute)
        except MetaGymError:
            raise
        except Exception as error:  # an import may fail in any way; the reader needs the real reason
            raise BadInput(f"suite {name} ({factory}) cannot be imported: {type(error).__name__}: {error}") from error
    known = inspect.signature(factory).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
        for option in options:
            if option not in known:
                raise BadInput(f"suite {name} has no option {option!r}; it has {', '.join(known) or 'none'}")
    if entrants is not None and "entrants" in known:
        options["entrants"] = entrants
    found = factory(**options)
    if not isinstance(found, Suite):
        raise BadInput(f"the function of suite {name} returned {shown(found)}; it must return a Suite")
    return found
