"""A loaded program, for ordinary code (`Program`) and for coroutines (`AsyncProgram`)."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any, Self

from metagym.sandbox.channel import Channel
from metagym.sandbox.limits import Limits
from metagym.sandbox.looping import AsyncChannel, AsyncInProcess
from metagym.sandbox.operations import Ask, Drop, Operation, Play, Reset, Start, Step, Transition, outcome


@dataclass(frozen=True)
class ProgramInfo:
    """What is known of a loaded program, and how it is kept.

    Attributes:
        class_name: The environment's class.
        doc: The module's doc string; "" where it has none.
        methods: Public names that the class defines.
        metadata: The class's `metadata` where it is plain data, else {}.
        digest: SHA-256 of the source, in hexadecimal.
        isolation: ``"process"`` or ``"inprocess"``.
        layers: Layers that held when tried, in this worker.
        guards: ``"native"`` or ``"full"``; ``"off"`` without the language layer.
        numpy: Whether the program may import NumPy.
        hash_seed: ``PYTHONHASHSEED`` of the worker; None in the caller's process.
        prints: What the program printed so far, cut at `Limits.prints`.
    """

    class_name: str
    doc: str
    methods: tuple[str, ...]
    metadata: dict[str, Any]
    digest: str
    isolation: str
    layers: tuple[str, ...]
    guards: str
    numpy: bool
    hash_seed: int | None
    prints: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "methods": list(self.methods), "layers": list(self.layers)}


class Program:
    """A program in its worker, for ordinary code; safe to use from several threads. Made by `load` or a pool.

    A call raises what went wrong: `ProgramError` (the program raised; it lives on), `BadOutput` (what it returned is no
    plain bounded data; it lives on), `ProgramKilled` (the worker is gone), `BadInput` (the caller's arguments).
    """

    def __init__(self, channel: Channel, limits: Limits, info: ProgramInfo) -> None:
        self._channel, self._limits, self._info = channel, limits, info

    @property
    def limits(self) -> Limits:
        """The program's limits."""
        return self._limits

    def reset(
        self, seed: int = 0, session: int = 0, *, options: dict[str, Any] | None = None, fresh: bool = False
    ) -> Start:
        """Starts an episode (see `operations.Reset`); observation and info."""
        return self._one(Reset(seed, session, options, fresh))

    def step(self, action: Any, session: int = 0) -> Transition:
        """One step: observation, reward, terminated, truncated, info."""
        return self._one(Step(action, session))

    def ask(self, method: str, *arguments: Any, session: int = 0) -> Any:
        """What a public method of the program's class returns: a channel that no observation passes through."""
        return self._one(Ask(method, arguments, session))

    def play(self, actions: Sequence[Any], seed: int = 0, session: int = 0) -> tuple[Start, list[Transition]]:
        """A whole episode in one message (see `operations.Play`)."""
        return self._one(Play(actions, seed, session))

    def drop(self, session: int) -> None:
        """Closes a session."""
        self._one(Drop(session))

    def batch(self, operations: Sequence[Operation]) -> list[Any]:
        """Does operations in their order, in one message; values or exceptions (given, not raised), one for each.

        Raises:
            BadInput: An operation has unusable arguments; nothing was done.
        """
        raw = self._channel.exchange([operation.write(self._limits) for operation in operations]) if operations else []
        return [outcome(*pair, self._limits) for pair in zip(operations, raw, strict=True)]

    def describe(self) -> ProgramInfo:
        """What is known of the program, with what it printed so far."""
        return replace(self._info, prints=self._channel.printed)

    def close(self) -> None:
        """Ends the worker."""
        self._channel.close()

    def __enter__(self) -> Self:
        """The program itself."""
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Ends the worker."""
        self.close()

    def _one(self, operation: Operation) -> Any:
        [raw] = self._channel.exchange([operation.write(self._limits)])
        found = outcome(operation, raw, self._limits)
        if isinstance(found, Exception):
            raise found
        return found


class AsyncProgram:
    """A program in its worker, for coroutines of one event loop; errors as for `Program`. Made by a pool.

    Coroutines that step different sessions share messages, which makes a step several times cheaper than alone.
    """

    def __init__(self, channel: AsyncChannel | AsyncInProcess, limits: Limits, info: ProgramInfo) -> None:
        self._channel, self._limits, self._info = channel, limits, info
        # The loop knows the channel, so the channel would outlive a program that nobody closed.
        self._finalizer = weakref.finalize(self, channel.abandon)

    @property
    def limits(self) -> Limits:
        """The program's limits."""
        return self._limits

    async def reset(
        self, seed: int = 0, session: int = 0, *, options: dict[str, Any] | None = None, fresh: bool = False
    ) -> Start:
        """See `Program.reset`."""
        return await self._one(Reset(seed, session, options, fresh))

    async def step(self, action: Any, session: int = 0) -> Transition:
        """See `Program.step`."""
        return await self._one(Step(action, session))

    async def ask(self, method: str, *arguments: Any, session: int = 0) -> Any:
        """See `Program.ask`."""
        return await self._one(Ask(method, arguments, session))

    async def play(self, actions: Sequence[Any], seed: int = 0, session: int = 0) -> tuple[Start, list[Transition]]:
        """See `Program.play`."""
        return await self._one(Play(actions, seed, session))

    async def drop(self, session: int) -> None:
        """See `Program.drop`."""
        await self._one(Drop(session))

    async def batch(self, operations: Sequence[Operation]) -> list[Any]:
        """See `Program.batch`."""
        written = [operation.write(self._limits) for operation in operations]  # before the first one is under way
        raw = await asyncio.gather(*map(self._channel.ask, written), return_exceptions=True)
        return [outcome(operation, answer, self._limits) for operation, answer in zip(operations, raw, strict=True)]

    def describe(self) -> ProgramInfo:
        """See `Program.describe`."""
        return replace(self._info, prints=self._channel.printed)

    async def close(self) -> None:
        """Ends the worker."""
        self._channel.close()

    async def __aenter__(self) -> Self:
        """The program itself."""
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Ends the worker."""
        await self.close()

    async def _one(self, operation: Operation) -> Any:
        raw = await self._channel.ask(operation.write(self._limits))
        found = outcome(operation, raw, self._limits)
        if isinstance(found, Exception):
            raise found
        return found
