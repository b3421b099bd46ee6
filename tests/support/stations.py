"""Workers in the test's own process: real stations and real messages, without Ray. They can be lost on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from metagym.errors import NodeLost
from metagym.playing.crew import Crew
from metagym.playing.remote import RemotePool
from metagym.playing.station import Station, packed, unpacked


class NearWorker:
    """A station of this process, reached by bytes alone.

    Attributes:
        calls: Names of the calls that it got.
        lose_at: It is lost with its so many-th call of `lose_in`; None never.
    """

    def __init__(self, name: str, lose_at: int | None = None, lose_in: str = "step") -> None:
        self.name, self.lose_at, self.lose_in = name, lose_at, lose_in
        self.calls: list[str] = []
        self.gone = asyncio.Event()
        self.ended = False
        self._station = Station()

    async def call(self, name: str, *arguments: Any) -> Any:
        """See `metagym.playing.crew.Worker`."""
        self.calls.append(name)
        if self.lose_at is not None and self.calls.count(self.lose_in) >= self.lose_at:
            self.gone.set()
        answer = asyncio.ensure_future(self._station.answer(packed(name, *arguments)))
        gone = asyncio.ensure_future(self.gone.wait())
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if self.gone.is_set():
            answer.cancel()
            raise NodeLost(f"worker {self.name} is gone")
        return unpacked(await answer)

    def end(self) -> None:
        """See `metagym.playing.crew.Worker`."""
        self.ended = True
        self.gone.set()


class NearCluster:
    """Makes workers, the first ones as told, further ones plain.

    Attributes:
        workers: All that were hired.
    """

    def __init__(self, size: int = 2, make: Callable[[int], NearWorker] | None = None) -> None:
        self.size = size
        self.workers: list[NearWorker] = []
        self._make = make or (lambda number: NearWorker(f"near {number}"))

    async def begin(self) -> int:
        """See `metagym.playing.crew.Crew`."""
        return self.size

    async def hire(self) -> NearWorker:
        """See `metagym.playing.crew.Crew`."""
        worker = self._make(len(self.workers))
        self.workers.append(worker)
        await worker.call("hello")
        return worker

    def pool(self, **options: Any) -> RemotePool:
        """A pool on these workers."""
        hire: Callable[[], Awaitable[Any]] = self.hire
        return RemotePool(Crew(self.begin, hire), **options)
