"""Asking one worker of scripts: what is sent to it, in pieces, and which of its answers are believed to be answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Self

from metagym.errors import BadInput, BadOutput, SandboxError
from metagym.sandbox import wire
from metagym.sandbox.blocking import ProcessChannel
from metagym.sandbox.channel import GRACE_S
from metagym.sandbox.faults import from_wire
from metagym.sandbox.limits import Limits
from metagym.sandbox.scripts.values import KEYS, Unsendable, pack, unpack
from metagym.sandbox.workers import Workers

PIECE = 50_000
"""Characters of an input in one message."""

VALUE_BYTES = 900_000
"""Longest value that a tested function may return: it must fit into one message to the test."""


class Worker:
    """A worker; as a context manager for the length of a block.

    Args:
        workers: Where it comes from.
        limits: Its limits.
    """

    def __init__(self, workers: Workers, limits: Limits) -> None:
        self._channel: ProcessChannel = workers.channel(limits)
        self._limits = limits

    def __enter__(self) -> Self:
        """The worker itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it."""
        self.close()

    def close(self) -> None:
        """Ends it."""
        self._channel.close()

    def ask(self, operations: Sequence[list[Any]], until: float | None = None) -> Any:
        """The value of the last answer; the first error is raised.

        All of it shares one limit of time: a script that a worker already holds may answer for the pieces of its input
        itself, each as late as it can.

        Args:
            operations: What to do.
            until: Time (`time.monotonic`) at which it must be over, if that is before `call_s` from now.
        """
        own = time.monotonic() + self._limits.call_s + 2 * GRACE_S  # just after that of a single operation
        value = None
        for raw in self._channel.exchange(operations, own if until is None else min(own, until)):
            if isinstance(raw, Exception):
                raise raw
            if raw[0] != "ok" or len(raw) != 2:
                error = from_wire(raw)
                if isinstance(error, SandboxError):
                    raise error
                # A BadInput would blame the caller, and no script is asked about the caller's input.
                raise BadOutput("the worker answered in a form that no script has")
            value = raw[1]
        return value


def fed(text: str) -> list[list[Any]]:
    """A long text as operations."""
    return [["feed", text[start : start + PIECE]] for start in range(0, len(text), PIECE)]


def sound(value: Any) -> Any:
    """A packed value that is about to be sent on; whoever sent it is not trusted.

    Raises:
        Unsendable: It is none, or too long.
    """
    unpack(value, KEYS)
    if len(wire.encode(value)) > VALUE_BYTES:
        raise Unsendable(f"the function returned a value of more than {VALUE_BYTES:,} bytes")
    return value


def packed(value: Any) -> Any:
    """A value of the caller's own, packed.

    Raises:
        BadInput: It cannot be carried over.
    """
    try:
        return pack(value)
    except Unsendable as error:
        raise BadInput(f"an argument cannot be carried over: {error}") from None
