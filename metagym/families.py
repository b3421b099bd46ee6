"""Families: a set of tasks, how to open one of them, and what counts as success."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import gymnasium

from metagym.checks import shown, whole
from metagym.episodes import Repair
from metagym.errors import BadInput, MetaGymError, UnknownName
from metagym.tasks import Task, TaskSet

HostKind = Literal["inline", "thread", "process"]


class Cleaned(NamedTuple):
    """What a cleaning rule made of a command: the text to send and how it came about."""

    command: str
    repair: Repair


_EXACT = Repair.EXACT  # the lookup in the enumeration costs more than all the rest of the rule in the common case
_cleaned = tuple.__new__  # so does the constructor of a named tuple


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
        if (
            command.isprintable() and len(command) <= 500 and command == command.strip()
        ):  # the common case, at every step
            return _cleaned(Cleaned, (command, _EXACT if command else Repair.ABSENT))
        lines = command.strip().splitlines()
        line = lines[0][:500] if lines else ""
        return Cleaned(line, Repair.ABSENT if not line else Repair.EXACT if line == command else Repair.REPAIRED)
    if command in admissible:
        return _cleaned(Cleaned, (command, _EXACT))
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


def as_written(command: str, admissible: Sequence[str] | None) -> Cleaned:
    """No cleaning at all: the command is sent as it was found, for measuring what a cleaning rule hides."""
    if not command:
        return Cleaned("", Repair.ABSENT)
    return Cleaned(command, Repair.EXACT if admissible is None or command in admissible else Repair.INVALID)


def success_from_info(info: Mapping[str, Any], ret: float, terminated: bool) -> bool | None:
    """The default success predicate: ``info["success"]`` of the last step; None (unknown) where it is absent."""
    value = info.get("success")
    return None if value is None else bool(value)


def task_id(task: Task) -> str:
    """The default identity of a task: its id."""
    return task.id


@dataclass(frozen=True)
class AnswerForm:
    """How an actor is asked to answer and how its command is read, where that is no line ``Action: ...``.

    Attributes:
        ask: The paragraph of the first user message that tells how to answer.
        read: ``read(reply, admissible) -> str``: the command in a `metagym.chat.Reply`; "" where there is none.
        absent: What the actor is told after an answer without a command.
    """

    ask: str
    read: Callable[[Any, Sequence[str] | None], str]
    absent: str


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
        identity: ``identity(task) -> str``, equal for two ids of one game, as where a split samples another one.
            Held-out sets are kept apart from training by it. By default the id.
        host: Where its environments may live: ``inline`` (never blocks, thread-safe), ``thread`` (may block,
            thread-safe), ``process`` (not thread-safe, or may hang for good).
        stand_ins: Scripted stand-ins: seat name (``actor``, ``reflector``) to a function ``(seed) -> ChatModel``.
        versions: Engine, data and grammar versions or digests (JSON), for manifests and reports.
        options: The options the family was built with (JSON).
        answer: How the actor answers; None asks for a thought and one line with a command.
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
    identity: Callable[[Task], str] = task_id
    host: HostKind = "thread"
    stand_ins: Mapping[str, Callable[[int], Any]] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    answer: AnswerForm | None = None

    def __post_init__(self) -> None:
        """Checks what can be checked early."""
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise BadInput(f"a family's name is made of letters and digits, got {self.name!r}")
        if not self.splits:
            raise BadInput(f"family {self.name} names no split")
        object.__setattr__(self, "max_steps", whole(f"max_steps of family {self.name}", self.max_steps, 1))

    def task_set(self, split: str, types: Sequence[str] | None = None) -> TaskSet:
        """The tasks of a split, checked.

        Args:
            split: One of `splits`.
            types: Keep only these task types; None keeps all.

        Raises:
            UnknownName: No such split or task type; the message lists those that exist.
            NoTasks: The split is empty.
            BadInput: `tasks` returned something else than a `TaskSet`.
        """
        if split not in self.splits:
            raise UnknownName(f"family {self.name} has no split {split!r}; it has {', '.join(self.splits)}")
        found = self.tasks(split)
        if not isinstance(found, TaskSet):
            raise BadInput(
                f"the tasks of family {self.name} for split {split!r} are of type {type(found).__name__}; its function "
                "`tasks` must return a metagym.TaskSet, as in TaskSet([...])"
            )
        return found.of_types(types)


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
        name: A registered name, or a `Family`, which is returned as it is. A name without a namespace is one of
            MetaGym's own; where there is none, it is the only one of that name.
        **options: Keyword arguments of its factory, e.g. ``engine="native"``.

    Raises:
        UnknownName: No family of that name, or several namespaces have one; the message lists them.
        BadInput: The factory does not take one of the options, cannot be imported, or builds no `Family`.
    """
    if isinstance(name, Family):
        if options:
            raise BadInput(f"family {name.name} is built already; it takes no options, got {sorted(options)}")
        return name
    if not isinstance(name, str):
        raise BadInput(f"a family is a registered name or a metagym.Family, got {shown(name)}")
    if name not in _factories:
        meant = _of_name(name)
        if len(meant) > 1:
            raise UnknownName(f"family {name!r} may be any of {', '.join(meant)}; name one of them")
        name = meant[0] if meant else name
    if name not in _factories:
        raise UnknownName(f"no family {name!r}; registered are {', '.join(sorted(_factories)) or 'none'}")
    factory = _factory(name)
    known = inspect.signature(factory).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
        for option in options:
            if option not in known:
                raise BadInput(f"family {name} has no option {option!r}; it has {', '.join(known) or 'none'}")
    family = factory(**options)
    if not isinstance(family, Family):
        raise BadInput(f"the factory of family {name} returned {shown(family)}; it must return a metagym.Family")
    return family


def family_from_gymnasium(env_id: Any, **options: Any) -> Family:
    """A family of any Gymnasium environment; its tasks are the seeds of its ``reset``.

    The registered family ``Gymnasium`` builds it (MetaGym's own is `metagym_envs.gym.from_gymnasium`, whose docstring
    lists all options), so that this room knows of no wrapper and no environment.

    Args:
        env_id: A Gymnasium id (``"module:id"`` imports the module first), an ``EnvSpec``, or a function that makes an
            environment.
        **options: ``env_kwargs``, ``seeds="0-999"``, ``valid_seeds="10000-10099"``, ``success="return > 0"``,
            ``actions``, ``aliases``, ``text``, ``ansi``, ...

    Raises:
        UnknownName: Gymnasium knows no such id.
        BadInput: The environment cannot be made or told in text, or an option is not usable.
    """
    return load_family("Gymnasium", env_id=env_id, **options)


def family_of(task: Task) -> Family:
    """The registered family that a task names. Tasks carry the bare name, which a stranger's family may share.

    Raises:
        UnknownName: No family of that name.
        BadInput: Several namespaces have one, MetaGym's own included; the message says how to tell which is meant.
    """
    meant = _of_name(task.family)
    if len(meant) > 1:
        ways = " or ".join(f'family=metagym.load_family("{name}")' for name in meant)
        raise BadInput(f"task {task.key} may be of any of the families {', '.join(meant)}; pass {ways}")
    return load_family(task.family)


def _of_name(bare: str) -> list[str]:
    """The registered names that end in a bare one."""
    return sorted(known for known in _factories if known.rpartition("/")[2] == bare)


def _factory(name: str) -> Factory:
    """The function that builds a registered family, imported where it was registered as text."""
    factory = _factories[name]
    if isinstance(factory, str):
        from importlib import import_module

        module, _, attribute = factory.partition(":")
        where = f"the factory of family {name}, registered as {factory!r},"
        try:
            found = import_module(module)
        except MetaGymError:
            raise
        except Exception as error:  # an import may fail in any way; the reader needs the real reason
            raise BadInput(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
        if not attribute or not hasattr(found, attribute):
            raise BadInput(f"{where} is not there: write it as 'module:attribute', with an attribute that exists")
        factory = getattr(found, attribute)
    if not callable(factory):
        raise BadInput(f"the factory of family {name} is {shown(factory)}, which cannot be called")
    return factory
