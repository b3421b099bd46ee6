"""The back ends of one conversation, seen from outside: a worker of the sandbox that lives as long as the conversation.

The back ends are a stranger's code that the user chose with the checkout. It runs behind rlimits, seccomp and Landlock,
and two conversations share nothing, not even a process.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from metagym.errors import (
    BadInput,
    BadOutput,
    EngineError,
    ProgramError,
    ProgramKilled,
    SandboxError,
    SandboxUnavailable,
)
from metagym.sandbox.scripts import Functions, Limits, ScriptPool, SharedPool
from metagym_envs.acebench.checkout import back_end, checkout
from metagym_envs.acebench.entries import Entry

LIMITS = Limits(call_s=20.0, load_s=20.0, cpu_s=10.0, memory_mb=256, source_chars=150_000, frame_bytes=2**21, prints=0)
"""Of the worker's whole life; a conversation of the benchmark takes a few milliseconds."""

_SPENT = ("wall", "cpu", "memory", "output")

FAILED = "Error during execution: "
"""What the answer to a call begins with that could not be run, or raised."""

UNKNOWN = f"{FAILED}there is no function "
"""What `world_inside` answers to a call of a function that no back end has."""


class UsedUp(EngineError):
    """What an agent asked for took more than a whole conversation may, or left a state that is too long to be read."""


def pool() -> ScriptPool:
    """The workers of all conversations of a process, started at first use.

    Raises:
        SandboxUnavailable: A layer of the sandbox is missing.
    """
    return _pool()


@SharedPool
def _pool() -> ScriptPool:
    return ScriptPool(LIMITS)


class World:
    """The back ends of an entry, where it starts.

    Args:
        path: The checkout.
        entry: The task.

    Raises:
        BadInput: The checkout lacks a class.
        EngineError: A back end does not load or does not begin.
        SandboxUnavailable: A layer of the sandbox is missing.
    """

    def __init__(self, path: str, entry: Entry) -> None:
        driver, modules, places = _sources(path, entry.kind, entry.classes)
        self._functions: Functions | None = None
        try:
            self._functions = pool().open([driver])
            for name, source in modules:
                self._functions.call("install", name, source)
            self._functions.call("begin", dict(places), list(entry.classes), _copied(entry.config))
        except SandboxUnavailable:
            self.close()
            raise
        except (SandboxError, BadInput) as error:
            self.close()
            raise EngineError(
                f"the back ends of {entry.id} ({', '.join(entry.classes)}) do not begin: {error}"
            ) from None

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Calls a function with named plain values; gives what it says, errors included.

        Raises:
            UsedUp: It took more than the limits of a whole conversation.
            EngineError: The worker is gone for another reason.
        """
        assert self._functions is not None
        try:
            return self._functions.call("call", name, dict(arguments))
        except ProgramError as error:
            return f"{FAILED}{error}"
        except BadOutput:
            return f"{FAILED}the result is too long"
        except ProgramKilled as error:
            kind = UsedUp if error.limit in _SPENT else EngineError
            raise kind(f"the back ends ended in a call of {name[:100]}: {error}") from None

    def state(self) -> dict[str, Any]:
        """By class, its attributes now, as JSON would hold them.

        Raises:
            UsedUp: It is too long, or took more than the limits of a whole conversation.
            EngineError: It cannot be told for another reason.
        """
        assert self._functions is not None
        try:
            found = self._functions.call("state")
        except SandboxError as error:
            spent = isinstance(error, BadOutput) or (isinstance(error, ProgramKilled) and error.limit in _SPENT)
            kind = UsedUp if spent else EngineError
            raise kind(f"the state of the back ends cannot be read: {error}") from None
        if not isinstance(found, dict) or not all(isinstance(part, dict) for part in found.values()):
            raise EngineError("the state of the back ends has no form")
        return found

    def close(self) -> None:
        """Ends the worker; a second call does nothing."""
        if self._functions is not None:
            self._functions.close()


@lru_cache(maxsize=32)
def _sources(
    path: str, kind: str, classes: tuple[str, ...]
) -> tuple[str, tuple[tuple[str, str], ...], tuple[Any, ...]]:
    """The driver, the modules in the order of their imports, and by class its module."""
    driver = (resources.files("metagym_envs.acebench") / "world_inside.py").read_text("utf-8")
    found = back_end(checkout(path), kind, classes)
    places = tuple((name, module) for module, (_, names) in found.items() for name in names.split())
    return driver, tuple((module, source) for module, (source, _) in found.items()), places


def _copied(value: Any) -> Any:
    """Plain lists and dicts of what may be read-only."""
    if isinstance(value, Mapping):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, (list, tuple)) else value
