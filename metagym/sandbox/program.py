"""A loaded program, for ordinary code (`Program`) and for coroutines (`AsyncProgram`)."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any, Self, TypeVar

from metagym.errors import BadInput, MetaGymError, ProgramKilled
from metagym.sandbox.channel import GRACE_S, Channel, Talk, again, requests
from metagym.sandbox.limits import Limits
from metagym.sandbox.operations import Ask, Drop, Operation, Play, Reset, Start, Step, Transition, outcome
from metagym.sandbox.processes import WorkerProcess

_READ = 65_536
_UNDER_WAY = 2
T = TypeVar("T")


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


class ProcessChannel:
    """Blocking conversation with a worker; one caller at a time, whichever thread it is in.

    Args:
        worker: A fresh worker.
        limits: Its limits.
        required: Layers that must have held.
    """

    def __init__(self, worker: WorkerProcess, limits: Limits, required: Sequence[str]) -> None:
        self._talk = Talk(worker, limits, required)
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, worker.kill)
        # The kernel's own time-outs: Python's cost four more system calls a round trip.
        seconds = limits.call_s + GRACE_S
        timeval = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
        worker.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
        worker.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)

    @property
    def layers(self) -> Any:
        """See `Channel`."""
        return self._talk.layers

    @property
    def printed(self) -> str:
        """See `Channel`."""
        return self._talk.printed

    def exchange(self, operations: Sequence[list[Any]]) -> list[Any]:
        """See `Channel`."""
        results: list[Any] = []
        with self._lock:
            for message, count in requests(operations):
                results += self._round(message, operations[len(results) : len(results) + count])
        return results

    def _round(self, message: bytes, operations: Sequence[list[Any]]) -> list[Any]:
        talk = self._talk
        results: list[Any] = []
        if talk.ended is not None:
            return [again(talk.ended) for _ in operations]
        try:
            self._talk_over(message, operations, results)
        except MetaGymError as error:
            results += [error, *(again(error) for _ in operations[len(results) + 1 :])]
        except BaseException:  # Ctrl-C: the answer that is still to come would be taken for the next call's
            talk.over(ProgramKilled("died", "a call was interrupted, so the worker was ended"))
            raise
        return results

    def _talk_over(self, message: bytes, operations: Sequence[list[Any]], results: list[Any]) -> None:
        talk, sock = self._talk, self._talk.worker.socket
        until = time.monotonic() + talk.seconds(operations[0])
        by_kernel = operations[0][0] != "load"
        try:
            if not by_kernel:
                sock.settimeout(until - time.monotonic())
            try:
                sock.sendall(message)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it ended; the end of the stream, met next, leads to the reason
            while len(results) < len(operations):
                if not by_kernel:
                    left = until - time.monotonic()
                    if left <= 0:
                        raise TimeoutError
                    sock.settimeout(left)
                by_kernel = False  # for the first wait only: what comes in pieces shares one deadline
                found = talk.feed(_received(sock), len(operations) - len(results))
                if found:
                    results += found
                    if talk.ended is not None and len(results) < len(operations):
                        raise again(talk.ended)
                    if len(results) < len(operations):
                        until = time.monotonic() + talk.seconds(operations[len(results)])
        except (TimeoutError, BlockingIOError):
            raise talk.too_late(operations[len(results)]) from None
        finally:
            if sock.fileno() >= 0 and sock.gettimeout() is not None:
                sock.settimeout(None)

    def close(self) -> None:
        """See `Channel`."""
        self._talk.over(ProgramKilled("died", "the program is closed"))


def _received(sock: socket.socket) -> bytes:
    try:
        return sock.recv(_READ)
    except ConnectionError:
        return b""


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
