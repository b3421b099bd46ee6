"""The conversation with a worker on an event loop: what coroutines ask together travels together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

from metagym.errors import BadInput, MetaGymError, ProgramKilled
from metagym.sandbox.channel import Channel, Talk, again, requests
from metagym.sandbox.limits import Limits
from metagym.sandbox.processes import WorkerProcess

_READ = 65_536
_UNDER_WAY = 2
"""Messages that may be under way to a worker."""


class AsyncChannel:
    """Conversation with a worker on an event loop.

    What several coroutines ask in one turn of the loop goes out as one message. A second one may follow before the
    first is answered in full, so that the worker does not wait for the loop; what is asked while both are under way is
    collected for the next. It belongs to the loop that it was made in.

    Args:
        worker: A fresh worker.
        limits: Its limits.
        required: Layers that must have held.
    """

    def __init__(self, worker: WorkerProcess, limits: Limits, required: Sequence[str]) -> None:
        self.talk = Talk(worker, limits, required)
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[list[Any], asyncio.Future[Any]]] = deque()
        self._sent: deque[tuple[list[Any], asyncio.Future[Any]]] = deque()
        self._open: deque[int] = deque()  # answers that each message under way still owes
        self._unsent, self._writing = b"", False
        self._planned = False
        self._timer: asyncio.TimerHandle | None = None
        self._until = 0.0
        self._fd = worker.socket.fileno()
        worker.socket.setblocking(False)
        self._loop.add_reader(self._fd, self._readable)

    def ask(self, operation: list[Any]) -> asyncio.Future[Any]:
        """Sends an operation with the next message; the future gives its raw answer, or raises.

        Raises:
            RuntimeError: Called on another event loop.
        """
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("a program is used on the event loop that it was loaded on")
        future: asyncio.Future[Any] = self._loop.create_future()
        if self.talk.ended is not None:
            future.set_exception(again(self.talk.ended))
            return future
        self._waiting.append((operation, future))
        if len(self._open) < _UNDER_WAY and not self._planned:
            self._planned = True
            self._loop.call_soon(self._send)
        return future

    @property
    def printed(self) -> str:
        """See `Channel`."""
        return self.talk.printed

    def close(self) -> None:
        """Ends the worker; calls under way raise."""
        self._over(ProgramKilled("died", "the program is closed"))

    def abandon(self) -> None:
        """The same, from any thread and after the loop's end."""
        # The descriptors are closed on the loop, which knows them by number: another program may get the number next.
        self.talk.worker.signal()
        try:
            self._loop.call_soon_threadsafe(self.close)
        except RuntimeError:  # the loop is closed
            self.talk.worker.kill()

    def _send(self) -> None:
        self._planned = False
        # A caller that was cancelled before its operation went out takes it back.
        batch = [pair for pair in self._waiting if not pair[1].done()]
        self._waiting.clear()
        if self.talk.ended is not None or not batch:
            return
        try:
            parts = requests([operation for operation, _ in batch])
        except BadInput as error:
            self._refuse(batch, error)
            return
        message, count = parts[0]
        self._sent.extend(batch[:count])
        self._waiting.extend(batch[count:])
        self._open.append(count)
        if len(self._open) == 1:
            self._watch()
        self._unsent += message
        if not self._writing:
            self._writable()

    def _refuse(self, batch: list[tuple[list[Any], asyncio.Future[Any]]], error: BadInput) -> None:
        """One operation of a batch cannot be sent: it is told so, the others go on."""
        for operation, future in batch:
            try:
                requests([operation])
            except BadInput as own:
                future.set_exception(own)
            else:
                self._waiting.append((operation, future))
        if self._waiting:
            self._send()

    def _writable(self) -> None:
        try:
            sent = self.talk.worker.socket.send(self._unsent)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            sent = len(self._unsent)  # it ended; the reader meets the end of the stream and learns why
        self._unsent = self._unsent[sent:]
        if self._unsent:
            self._loop.add_writer(self._fd, self._writable)
        elif self._writing:
            self._loop.remove_writer(self._fd)
        self._writing = bool(self._unsent)

    def _readable(self) -> None:
        try:
            data = self.talk.worker.socket.recv(_READ)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        try:
            results = self.talk.feed(data, len(self._sent))
        except MetaGymError as error:
            self._over(error)
            return
        for result in results:
            self._open[0] -= 1
            if not self._open[0]:
                self._open.popleft()
            _, future = self._sent.popleft()
            if not future.done():
                future.set_result(result)
        if self.talk.ended is not None:
            self._over(self.talk.ended)
        elif results:
            if self._sent:
                self._watch()
            if self._waiting and len(self._open) < _UNDER_WAY and not self._planned:
                self._send()

    def _watch(self) -> None:
        """Notes until when the first answer that is due must come."""
        self._until = self._loop.time() + self.talk.seconds(self._sent[0][0])
        if self._timer is None or self._timer.when() > self._until:
            self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._until, self._check)

    def _check(self) -> None:
        # One timer serves many messages: it looks up the deadline of the day when it fires.
        self._timer = None
        if not self._sent:
            return
        if self._loop.time() < self._until:
            self._arm()
            return
        self._readable()  # an answer that lies there already is an answer in time: the loop was busy, not the program
        if self._sent and self.talk.ended is None and self._loop.time() >= self._until:
            self._over(self.talk.too_late(self._sent[0][0]))

    def _over(self, error: MetaGymError) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            self._fd = -1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.talk.over(error)
        for _, future in (*self._sent, *self._waiting):
            if not future.done():
                future.set_exception(again(error))
        self._sent.clear()
        self._open.clear()
        self._waiting.clear()


class AsyncInProcess:
    """A program in the caller's own process, for coroutines: each call runs at once and holds up the loop.

    Args:
        channel: The program.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.close = self.abandon = channel.close

    @property
    def printed(self) -> str:
        """See `Channel`."""
        return self._channel.printed

    def ask(self, operation: list[Any]) -> asyncio.Future[Any]:
        """See `AsyncChannel.ask`."""
        future = asyncio.get_running_loop().create_future()
        [result] = self._channel.exchange([operation])
        future.set_result(result)
        return future
