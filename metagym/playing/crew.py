"""The workers of a cluster as their driver sees them: hired together, the least busy one first, replaced when lost."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from metagym.errors import ClusterError, HostError, MetaGymWarning, NodeLost

HIRE_SECONDS = 180.0
"""Longest wait for the first worker: cold interpreters on busy machines."""
SETTLE_SECONDS = 20.0
"""How long the others may come later than the first before the work begins without them."""
END_SECONDS = 10.0


class Worker(Protocol):
    """One worker process, wherever it is.

    Attributes:
        name: Where it is, for messages.
    """

    name: str

    async def call(self, name: str, *arguments: Any) -> Any:
        """What its station (`metagym.playing.station`) answers.

        Args:
            name: What to do.
            *arguments: With what.

        Raises:
            NodeLost: The worker is gone.
            Exception: What the call itself raised.
        """
        ...

    def end(self) -> None:
        """Ends the process at once; never raises."""
        ...


class Crew:
    """A number of workers on one event loop.

    Args:
        begin: Connects, at first use; says how many workers are wanted.
        hire: Gets a new worker, checked and ready. It may wait as long as the cluster has no room.
    """

    def __init__(self, begin: Callable[[], Awaitable[int]], hire: Callable[[], Awaitable[Worker]]) -> None:
        self._begin, self._hire = begin, hire
        self._busy: dict[Worker, int] = {}
        self._hiring: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting: asyncio.Task[None] | None = None
        self._alone: dict[Worker, bool] = {}  # True once its lease is held, False while its other leases end
        self._failure: ClusterError | None = None
        self._fatal = self._begun = self._closed = False
        self.lost = 0

    @property
    def workers(self) -> list[Worker]:
        """Those that are there."""
        return list(self._busy)

    def has(self, worker: Worker) -> bool:
        """Whether a worker is still there."""
        return worker in self._busy

    async def lease(self, most: int | None = None, *, alone: bool = False) -> Worker:
        """The least busy worker; waits while all of them have `most` leases.

        Args:
            most: Leases that a worker may have at a time; None is no limit.
            alone: Nobody else gets this worker until the lease ends.

        Raises:
            ClusterError: No worker can be had.
        """
        await self._started()
        while True:
            if self._failure is not None and (self._fatal or not (self._busy or self._hiring)):
                raise ClusterError(str(self._failure))
            ours = {worker: busy for worker, busy in self._busy.items() if worker not in self._alone}
            free = [worker for worker, busy in ours.items() if alone or most is None or busy < most]
            if free:
                worker = min(free, key=self._busy.__getitem__)
                if not alone:
                    self._busy[worker] += 1
                    return worker
                if await self._emptied(worker):
                    return worker
            elif self._closed:
                raise HostError("the pool is closed")
            else:
                await self._changed()

    def release(self, worker: Worker) -> None:
        """Ends a lease; a worker that is gone is no matter."""
        if worker in self._busy:
            self._busy[worker] -= 1
            if self._alone.get(worker):
                del self._alone[worker]
            self._tell()

    def drop(self, worker: Worker) -> None:
        """Takes a lost worker out and looks for another one."""
        if worker in self._busy:
            del self._busy[worker]
            self._alone.pop(worker, None)
            self.lost += 1
            worker.end()
            if not self._closed:
                self._look()
            self._tell()

    async def close(self) -> None:
        """Ends every worker."""
        self._closed = True
        tasks = [*self._hiring, *([self._starting] if self._starting is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        workers = list(self._busy)
        self._busy.clear()
        self._tell()
        await asyncio.gather(*map(_ended, workers))

    # --- inside

    async def _started(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        if self._loop is not loop:
            raise HostError("a pool of a cluster's workers cannot move to another event loop; make a new one")
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        await asyncio.shield(self._starting)

    async def _start(self) -> None:
        size = await self._begin()
        for _ in range(size):
            self._look()
        until = asyncio.get_running_loop().time() + SETTLE_SECONDS
        while len(self._busy) < size and self._failure is None:  # the first tasks would all meet the first worker
            left = until - asyncio.get_running_loop().time()
            if self._busy and left <= 0:
                break
            await self._changed(left if self._busy else None)
        self._begun = True

    async def _emptied(self, worker: Worker) -> bool:
        """Keeps a worker for one lease, once its other leases have ended; False where it is lost meanwhile."""
        self._alone[worker] = False
        try:
            while self._busy.get(worker):
                await self._changed()
        except BaseException:
            self._alone.pop(worker, None)
            self._tell()
            raise
        if worker not in self._busy:
            return False
        self._alone[worker], self._busy[worker] = True, 1
        return True

    def _look(self) -> None:
        task = asyncio.ensure_future(self._hired())
        self._hiring.add(task)
        task.add_done_callback(self._looked)

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._hiring.discard(task)
        self._tell()

    async def _hired(self) -> None:
        for tries_left in (2, 1, 0):
            try:
                worker = await self._hire()
            except NodeLost as error:  # its node went while it started
                if not tries_left:
                    self._fail(ClusterError(f"no worker of the cluster starts: {error}"), fatal=False)
            except ClusterError as error:
                self._fail(error, fatal=not self._begun)
                return
            except Exception as error:
                told = ClusterError(f"a worker cannot be started: {type(error).__name__}: {error}")
                self._fail(told, fatal=not self._begun)
                return
            else:
                self._busy[worker] = 0
                self._tell()
                return

    def _fail(self, error: ClusterError, fatal: bool) -> None:
        """Notes that a worker cannot be had: the end of all at the start, later only where nobody is left."""
        self._failure, self._fatal = self._failure or error, self._fatal or fatal
        if not self._fatal and self._busy:
            warnings.warn(f"a lost worker is not replaced: {error}", MetaGymWarning, stacklevel=2)
        self._tell()

    async def _changed(self, seconds: float | None = None) -> None:
        """Waits for news; while there is no worker at all, not for ever.

        Raises:
            ClusterError: There was none for too long.
        """
        alone = not self._busy
        limit = HIRE_SECONDS if seconds is None and alone else seconds
        try:
            async with asyncio.timeout(limit):
                await self._news.wait()
        except TimeoutError:
            if alone and not self._busy:
                raise ClusterError(
                    f"the cluster placed no worker within {HIRE_SECONDS:g} s: are its CPUs taken by others?"
                ) from None

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


async def _ended(worker: Worker) -> None:
    with contextlib.suppress(Exception):  # it may be gone already
        async with asyncio.timeout(END_SECONDS):
            await worker.call("end")
    worker.end()
