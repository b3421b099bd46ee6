"""Programs played on the nodes of a cluster: each in a confined worker there, the agent's model asked from here."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from metagym.errors import BadInput, HostError
from metagym.playing.crew import Worker
from metagym.playing.processes import START_SECONDS
from metagym.playing.remote import GRACE_SECONDS, RemotePool
from metagym.sandbox import Limits, SandboxPool
from metagym.sandbox.operations import Ask, Operation, Reset, Step
from metagym.spade.hosts import AT_ONCE, Stage, stage_of
from metagym.spade.program import EnvProgram


class RemoteProgram:
    """A program in the sandbox of a node: what a play needs of `metagym.sandbox.AsyncProgram`, with its errors.

    A call raises `NodeLost` where the node is gone: the program's plays begin anew then, with another one of these.

    Args:
        pool: The workers.
        source: The program.
        limits: Of its confined worker; None for the sandbox's own.
    """

    def __init__(self, pool: RemotePool, source: str, limits: Limits | None = None) -> None:
        self._pool, self._source, self._limits = pool, source, limits
        self._number = pool.number()
        self._worker: Worker | None = None

    async def __aenter__(self) -> Self:
        """Loads it on the least busy node.

        Raises:
            SandboxError: It cannot be loaded.
            NodeLost: The node went meanwhile.
        """
        self._worker = await self._pool.crew.lease()
        try:
            limit = START_SECONDS + (self._limits or Limits()).load_s
            await self._pool.call(self._worker, "load", self._number, self._source, self._limits, limit=limit)
        except BaseException:
            self._pool.crew.release(self._worker)
            raise
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Ends its confined worker."""
        assert self._worker is not None
        with contextlib.suppress(HostError):
            await self._pool.call(self._worker, "unload", self._number, limit=GRACE_SECONDS)
        self._pool.crew.release(self._worker)

    async def reset(self, seed: int = 0, session: int = 0, *, fresh: bool = False) -> Any:
        """See `Handle`."""
        return await self._one(Reset(seed, session, None, fresh))

    async def step(self, action: Any, session: int = 0) -> Any:
        """See `Handle`."""
        return await self._one(Step(action, session))

    async def ask(self, method: str, *arguments: Any, session: int = 0) -> Any:
        """See `Handle`."""
        return await self._one(Ask(method, arguments, session))

    async def _one(self, operation: Operation) -> Any:
        assert self._worker is not None
        limits = self._limits or Limits()  # all sessions of a program may be before this call
        limit = GRACE_SECONDS + (AT_ONCE + 1) * limits.call_s + limits.load_s
        return await self._pool.call(self._worker, "program", self._number, operation, limit=limit)


def staged_on(pool: RemotePool) -> Callable[..., AbstractAsyncContextManager[Stage]]:
    """What `metagym.spade.hosts.staged` is for this machine, for the nodes of a cluster."""

    @asynccontextmanager
    async def staged(
        program: EnvProgram,
        sandbox: SandboxPool | None = None,
        *,
        max_steps: int | None = None,
        limits: Limits | None = None,
    ) -> AsyncIterator[Stage]:
        if sandbox is not None:
            raise BadInput("programs on a cluster run in its nodes' sandboxes: leave the pools of this machine out")
        async with RemoteProgram(pool, program.source, limits) as handle:
            yield await stage_of(program, handle, max_steps)

    return staged
