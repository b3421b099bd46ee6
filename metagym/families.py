"""Families: a set of tasks, how to open one of them, and what counts as success."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import gymnasium

from metagym.episodes import Repair
from metagym.errors import BadInput, UnknownName
from metagym.tasks import Task, TaskSet

HostKind = Literal["inline", "thread", "process"]


class Cleaned(NamedTuple):
    """What a cleaning rule made of a command: the text to send and how it came about."""

    command: str
    repair: Repair


def clean_command(command: str, admissible: Sequence[str] | None) -> Cleaned:
    """The default cleaning rule, from a model's command to what the environment gets.

    1. Only the first line counts, cut at 500 characters.
    2. Without a list of admissible actions it is sent as it is.
    3. With one, an equal action is taken; else blanks are folded, surrounding quotes, backticks, a leading ``>`` and a
       final full stop are dropped, and an action that is equal when case is ignored is taken.
    4. What is equal to none is sent after these steps all the same, and the environment answers it.

    Nothing is ever snapped to the nearest or the first legal action: that would hide format errors.

    Args:
        command: The action text as the actor seat found it in the reply.
        admissible: Legal actions, or None where the environment lists none.

    Returns:
        The command ("" if nothing is left) and whether it is exact, repaired, invalid or absent.
    """
    if admissible is None:
        lines = command.strip().splitlines()
        line = lines[0][:500] if lines else ""
        return Cleaned(line, Repair.ABSENT if not line else Repair.EXACT if line == command else Repair.REPAIRED)
    if command in admissible:
        return Cleaned(command, Repair.EXACT)
    lines = command.strip().splitlines()
    text = " ".join(lines[0][:500].split()) if lines else ""
    text = text.lstrip("> ").strip("`\"'").removesuffix(".").strip()
    if not text:
        return Cleaned("", Repair.ABSENT)
    folded = text.casefold()
    for legal in admissible:
        if legal == text or legal.casefold() == folded:
            return Cleaned(legal, Repair.REPAIRED)
    return Cleaned(text, Repair.INVALID)


def success_from_info(info: Mapping[str, Any], ret: float, terminated: bool) -> bool | None:
    """The default success predicate: ``info["success"]`` of the last step; None (unknown) where it is absent."""
    value = info.get("success")
    return None if value is None else bool(value)


@dataclass(frozen=True)
class Family:
    """A family of inner environments, text in and text out.

    Attributes:
        name: Letters and digits, e.g. ``"ALFWorld"``.
        tasks: ``tasks(split) -> TaskSet``. Called often: cache inside.
        open: ``open(task) -> gymnasium.Env`` whose observations and actions are `str`. ``info["admissible"]`` may list
            the legal actions, ``info["success"]`` tell whether the task is solved so far.
        splits: Splits that `tasks` knows; the first is the training split.
        success: ``success(last_info, episode_return, terminated) -> bool | None``. Any reward above 0 is *not*
            success: shaped rewards would count.
        clean: From a model's command to the action sent; see `clean_command`.
        instructions: One paragraph for the actor: what the world is and how its actions are written.
        system_prompt: Where a meta-episode starts, unless told otherwise.
        max_steps: Default cap on inner steps.
        host: Where its environments may live: ``inline`` (never blocks, thread-safe), ``thread`` (may block,
            thread-safe), ``process`` (not thread-safe, or may hang for good).
        stand_ins: Scripted stand-ins: seat name (``actor``, ``reflector``) to a function ``(seed) -> ChatModel``.
        versions: Engine, data and grammar versions or digests (JSON), for manifests and reports.
        options: The options the family was built with (JSON).
    """

    name: str
    tasks: Callable[[str], TaskSet]
    open: Callable[[Task], gymnasium.Env[str, str]]
    splits: tuple[str, ...] = ("train", "valid")
    success: Callable[[Mapping[str, Any], float, bool], bool | None] = success_from_info
    clean: Callable[[str, Sequence[str] | None], Cleaned] = clean_command
    instructions: str = ""
    system_prompt: str = ""
    max_steps: int = 50
    host: HostKind = "thread"
    stand_ins: Mapping[str, Callable[[int], Any]] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks what can be checked early."""
        if not self.name.isidentifier():
            raise BadInput(f"a family's name is made of letters and digits, got {self.name!r}")
        if not self.splits:
            raise BadInput(f"family {self.name} names no split")
        if self.max_steps < 1:
            raise BadInput(f"family {self.name}: max_steps is at least 1, got {self.max_steps}")

    def task_set(self, split: str, types: Sequence[str] | None = None) -> TaskSet:
        """The tasks of a split, checked.

        Args:
            split: One of `splits`.
            types: Keep only these task types; None keeps all.

        Raises:
            UnknownName: No such split or task type; the message lists those that exist.
            NoTasks: The split is empty.
        """
        if split not in self.splits:
            raise UnknownName(f"family {self.name} has no split {split!r}; it has {', '.join(self.splits)}")
        return self.tasks(split).of_types(types)


Factory = Callable[..., Family]
_factories: dict[str, Factory | str] = {}


def add_factory(name: str, factory: Factory | str) -> None:
    """Makes a family known by name; `metagym.register_family` does this and gives it its Gymnasium ids."""
    _factories[name] = factory


def drop_factory(name: str) -> None:
    """Forgets a family, e.g. one that a test made known."""
    _factories.pop(name, None)


def family_names() -> tuple[str, ...]:
    """Names of the registered families, as ``Name`` or ``Namespace/Name``."""
    return tuple(_factories)


def load_family(name: str | Family, **options: Any) -> Family:
    """Builds a registered family.

    Args:
        name: A registered name, or a `Family`, which is returned as it is.
        **options: Keyword arguments of its factory, e.g. ``engine="native"``.

    Raises:
        UnknownName: No family of that name, or several namespaces have one; the message lists them.
        BadInput: The factory does not take one of the options.
    """
    if isinstance(name, Family):
        if options:
            raise BadInput(f"family {name.name} is built already; it takes no options, got {sorted(options)}")
        return name
    if name not in _factories:  # tasks carry the bare name; a namespace may stand before it
        meant = [known for known in _factories if known.rpartition("/")[2] == name]
        if len(meant) > 1:
            raise UnknownName(f"family {name!r} may be any of {', '.join(sorted(meant))}; name one of them")
        name = meant[0] if meant else name
    if name not in _factories:
        raise UnknownName(f"no family {name!r}; registered are {', '.join(sorted(_factories)) or 'none'}")
    factory = _factories[name]
    if isinstance(factory, str):
        from importlib import import_module

        module, _, attribute = factory.partition(":")
        factory = getattr(import_module(module), attribute)
    known = inspect.signature(factory).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
        for option in options:
            if option not in known:
                raise BadInput(f"family {name} has no option {option!r}; it has {', '.join(known) or 'none'}")
    return factory(**options)
