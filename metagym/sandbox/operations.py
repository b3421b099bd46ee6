"""What can be asked of a program, as values: several of them make a batch. Each knows its form on the wire.

`read` judges an answer that may come from a worker that a program took over: shape, types, sizes, finiteness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from metagym.errors import BadInput, BadOutput, SandboxError
from metagym.sandbox.faults import from_wire
from metagym.sandbox.limits import Limits
from metagym.sandbox.plain import plain
from metagym.seeding import check_seed

Start: TypeAlias = tuple[Any, dict[str, Any]]
"""Observation and info."""

Transition: TypeAlias = tuple[Any, float, bool, bool, dict[str, Any]]
"""Observation, reward, terminated, truncated, info."""


class Operation(Protocol):
    """One thing to do with a program."""

    def write(self, limits: Limits) -> list[Any]:
        """Its form on the wire.

        Raises:
            BadInput: An argument cannot be sent.
        """

    def read(self, value: Any, limits: Limits) -> Any:
        """The answer's value.

        Raises:
            BadOutput: It is none that this operation has.
        """


_DESCRIPTION = Limits()
"""What a program's description may hold; a caller's tight limits are meant for what it returns."""


@dataclass(frozen=True)
class Load:
    """Loads the program; the pool does it once.

    Attributes:
        source: The program's text; bytes are decoded as Python decodes a file.
        seed: Seed of what the program draws before its first reset.
        code: What another worker compiled of it; "" to be told it, None not to be told.
    """

    source: str | bytes
    seed: int = 0
    code: str | None = None

    def write(self, limits: Limits) -> list[Any]:
        """See `Operation`."""
        text = self.source if isinstance(self.source, str) else self.source.decode("latin-1")
        return ["load", text, not isinstance(self.source, str), self.seed, self.code]

    def read(self, value: Any, limits: Limits) -> dict[str, Any]:
        """See `Operation`."""
        found = plain(value, _DESCRIPTION, "the description of the program")
        types = {"class_name": str, "doc": str, "methods": list, "metadata": dict}
        if type(found) is not dict or {name: type(part) for name, part in found.items()} != types:
            raise _formless("load")
        return found


@dataclass(frozen=True)
class Reset:
    """Starts an episode; gives `Start`.

    Attributes:
        seed: Handed to the program's reset, and the seed of all that it draws from the global generators until the
            next reset.
        session: Number of the session; one that is not open yet is opened.
        options: For programs whose reset takes options.
        fresh: Open the session anew: the module's body runs again, nothing of earlier episodes is left.
    """

    seed: int = 0
    session: int = 0
    options: dict[str, Any] | None = None
    fresh: bool = False

    def write(self, limits: Limits) -> list[Any]:
        """See `Operation`."""
        options = None if self.options is None else _sendable(self.options, limits, "options")
        return ["reset", _session(self.session), _seed(self.seed), options, bool(self.fresh)]

    def read(self, value: Any, limits: Limits) -> Start:
        """See `Operation`."""
        if type(value) is not list or len(value) != 2:
            raise _formless("reset")
        observation, info = value
        return plain(observation, limits, "the observation of reset"), _info(info, limits, "reset")


@dataclass(frozen=True)
class Step:
    """One step of an episode; gives `Transition`.

    Attributes:
        action: Plain data.
        session: Number of the session.
    """

    action: Any
    session: int = 0

    def write(self, limits: Limits) -> list[Any]:
        """See `Operation`."""
        return ["step", _session(self.session), _sendable(self.action, limits, "the action")]

    def read(self, value: Any, limits: Limits) -> Transition:
        """See `Operation`."""
        if type(value) is not list or len(value) != 5:
            raise _formless("step")
        observation, reward, terminated, truncated, info = value
        if type(reward) is not float or reward - reward != 0.0:
            raise _formless("step")
        if type(terminated) is not bool or type(truncated) is not bool:
            raise _formless("step")
        observation = plain(observation, limits, "the observation of step")
        return observation, reward, terminated, truncated, _info(info, limits, "step")


@dataclass(frozen=True)
class Ask:
    """Calls a public method of the program's class beside reset and step: its hint, its reference solution, its tools.

    Attributes:
        method: A name that the class defines.
        arguments: Plain data.
        session: Number of the session; one that is not open yet is opened.
    """

    method: str
    arguments: Sequence[Any] = ()
    session: int = 0

    def write(self, limits: Limits) -> list[Any]:
        """See `Operation`."""
        if not isinstance(self.method, str):
            raise BadInput(f"a method is asked by its name, got {type(self.method).__name__}")
        arguments = _sendable(list(self.arguments), limits, "the arguments")
        return ["ask", _session(self.session), self.method[:200], arguments]

    def read(self, value: Any, limits: Limits) -> Any:
        """See `Operation`."""
        return plain(value, limits, f"what {self.method[:80]} returned")


@dataclass(frozen=True)
class Play:
    """A whole episode at once, in a session opened anew: reset, then the actions until the episode or the list ends.

    It is one call, so `Limits.call_s` is for all of it. Gives a `Start` and a list of `Transition`.

    Attributes:
        actions: Plain data, one action each.
        seed: As for `Reset`.
        session: Number of the session.
    """

    actions: Sequence[Any]
    seed: int = 0
    session: int = 0

    def write(self, limits: Limits) -> list[Any]:
        """See `Operation`."""
        actions = [_sendable(action, limits, "an action") for action in self.actions]
        return ["play", _session(self.session), _seed(self.seed), actions]

    def read(self, value: Any, limits: Limits) -> tuple[Start, list[Transition]]:
        """See `Operation`."""
        if type(value) is not list or not 1 <= len(value) <= 1 + len(self.actions):
            raise _formless("play")
        steps = [_ANY_STEP.read(step, limits) for step in value[1:]]
        return _ANY_RESET.read(value[0], limits), steps


@dataclass(frozen=True)
class Drop:
    """Closes a session and frees what it holds.

    Attributes:
        session: Number of the session; one that is not open is left so.
    """

    session: int

    def write(self, limits: Limits) -> list[Any]:
        """See `Operation`."""
        return ["drop", _session(self.session)]

    def read(self, value: Any, limits: Limits) -> None:
        """See `Operation`."""
        if value is not None:
            raise _formless("drop")


@dataclass(frozen=True)
class Attempt:
    """Lets a worker without a program try something that its confinement must stop; for the pool's own check.

    Attributes:
        name: One of `metagym.sandbox.confine.selftest.TRIES`.
    """

    name: str

    def write(self, limits: Limits) -> list[Any]:
        """See `Operation`."""
        return ["try", self.name]

    def read(self, value: Any, limits: Limits) -> bool:
        """See `Operation`."""
        if type(value) is not bool:
            raise _formless("try")
        return value


_ANY_RESET, _ANY_STEP = Reset(), Step(None)


def outcome(operation: Operation, result: Any, limits: Limits) -> Any:
    """The value of an answer, or the exception that it stands for (given, not raised).

    Args:
        operation: What was asked.
        result: The raw answer, or an exception of the channel.
        limits: Limits of the program.
    """
    if isinstance(result, Exception):
        return result
    try:
        if result[0] == "ok" and len(result) == 2:
            return operation.read(result[1], limits)
        return from_wire(result)
    except SandboxError as error:
        return error


def _formless(what: str) -> BadOutput:
    return BadOutput(f"the worker answered a {what} in a form that it does not have")


def _info(info: Any, limits: Limits, what: str) -> dict[str, Any]:
    if type(info) is not dict:
        raise _formless(what)
    return plain(info, limits, f"the info of {what}") if info else info


def _sendable(value: Any, limits: Limits, what: str) -> Any:
    try:
        return plain(value, limits, what)
    except BadOutput as error:
        raise BadInput(str(error)) from None


def _session(number: Any) -> int:
    return number if type(number) is int and number >= 0 else check_seed(number, "a session's number")


def _seed(seed: Any) -> int:
    found = seed if type(seed) is int and seed >= 0 else check_seed(seed)
    if found >= 2**63:
        raise BadInput(f"seed is below 2**63, got {found}")
    return found
