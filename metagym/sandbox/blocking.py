"""The conversation with a worker for ordinary code: each call waits for its answer."""

from __future__ import annotations

import select
import socket
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from metagym.errors import MetaGymError, ProgramKilled
from metagym.sandbox.channel import Talk, again, requests
from metagym.sandbox.limits import Limits
from metagym.sandbox.processes import WorkerProcess
from metagym.sandbox.wire import LOOKS

_READ = 65_536


class ProcessChannel:
    """Blocking conversation with a worker; one caller at a time, whichever thread it is in.

    Args:
        worker: A fresh worker.
        limits: Its limits.
        required: Layers that must have held.
    """

    def __init__(self, worker: WorkerProcess, limits: Limits, required: Sequence[str]) -> None:
        self.talk = self._talk = Talk(worker, limits, required)
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, worker.kill)
        # Not the kernel's own time-outs: it counts anew after each signal that the process gets, so that a timer of
        # the caller's would put off a limit for ever. And not Python's, which cost four more system calls a round trip.
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(worker.socket, select.POLLIN)
        self._writable.register(worker.socket, select.POLLOUT)

    @property
    def layers(self) -> Mapping[str, str]:
        """See `Channel`."""
        return self._talk.layers

    @property
    def printed(self) -> str:
        """See `Channel`."""
        return self._talk.printed

    def exchange(self, operations: Sequence[list[Any]], until: float | None = None) -> list[Any]:
        """See `Channel`.

        Args:
            operations: What to do.
            until: Time (`time.monotonic`) at which all of it must be over, whatever is left of each operation's limit.
        """
        results: list[Any] = []
        with self._lock:
            for message, count in requests(operations):
                results += self._round(message, operations[len(results) : len(results) + count], until)
        return results

    def _round(self, message: bytes, operations: Sequence[list[Any]], end: float | None) -> list[Any]:
        talk = self._talk
        results: list[Any] = []
        if talk.ended is not None:
            return [again(talk.ended) for _ in operations]
        try:
            self._talk_over(message, operations, results, end)
        except MetaGymError as error:
            results += [error, *(again(error) for _ in operations[len(results) + 1 :])]
        except BaseException:  # Ctrl-C: the answer that is still to come would be taken for the next call's
            talk.over(ProgramKilled("died", "a call was interrupted, so the worker was ended"))
            raise
        return results

    def _talk_over(
        self, message: bytes, operations: Sequence[list[Any]], results: list[Any], end: float | None
    ) -> None:
        talk = self._talk
        until = self._until(operations[0], end)
        try:
            self._send(message, until)
            while len(results) < len(operations):
                found = talk.feed(self._received(until), len(operations) - len(results))
                if found:
                    results += found
                    if talk.ended is not None and len(results) < len(operations):
                        raise again(talk.ended)
                    if len(results) < len(operations):
                        until = self._until(operations[len(results)], end)
                elif time.monotonic() >= until:  # pieces that keep coming are no answer
                    raise TimeoutError
        except TimeoutError:
            raise talk.too_late(operations[len(results)], end is not None and time.monotonic() >= end) from None

    def _send(self, message: bytes, until: float) -> None:
        sock, sent = self._talk.worker.socket, 0
        while True:
            try:
                sent += sock.send(message[sent:], socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
            except OSError:  # it ended, or was closed; the end of the stream, met next, leads to the reason
                return
            if sent == len(message):
                return
            _wait(self._writable, until)

    def _received(self, until: float) -> bytes:
        sock, looks = self._talk.worker.socket, LOOKS
        while True:
            try:
                return sock.recv(_READ, socket.MSG_DONTWAIT)
            except BlockingIOError:
                looks -= 1
            except OSError:  # as above
                return b""
            if looks <= 0:
                _wait(self._readable, until)

    def _until(self, operation: Sequence[Any], end: float | None) -> float:
        """When an operation must be over that begins now."""
        own = time.monotonic() + self._talk.seconds(operation)
        return own if end is None else min(own, end)

    def close(self) -> None:
        """See `Channel`."""
        self._talk.over(ProgramKilled("died", "the program is closed"))


def _wait(poll: select.poll, until: float) -> None:
    """Sleeps until the socket is ready.

    Raises:
        TimeoutError: It was not ready in time (`time.monotonic`).
    """
    left = until - time.monotonic()
    if left <= 0 or not poll.poll(1_000.0 * left):
        raise TimeoutError
