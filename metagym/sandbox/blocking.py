"""The conversation with a worker for ordinary code: each call waits for its answer."""

from __future__ import annotations

import socket
import struct
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from metagym.errors import MetaGymError, ProgramKilled
from metagym.sandbox.channel import GRACE_S, Talk, again, requests
from metagym.sandbox.limits import Limits
from metagym.sandbox.processes import WorkerProcess
from metagym.sandbox.wire import LOOKS

_READ = 65_536
_LEAST_S = 0.001
"""Shortest wait: a time-out of 0 would mean not to wait at all, which is another mode of a socket."""


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
        # The kernel's own time-outs: Python's cost four more system calls a round trip.
        seconds = limits.call_s + GRACE_S
        timeval = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
        worker.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
        worker.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)

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
        talk, sock = self._talk, self._talk.worker.socket
        until = self._until(operations[0], end)
        by_kernel = operations[0][0] != "load" and end is None
        try:
            if not by_kernel:
                sock.settimeout(max(until - time.monotonic(), _LEAST_S))
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
                        until = self._until(operations[len(results)], end)
        except (TimeoutError, BlockingIOError):
            raise talk.too_late(operations[len(results)], end is not None and time.monotonic() >= end) from None
        finally:
            if sock.fileno() >= 0 and sock.gettimeout() is not None:
                sock.settimeout(None)

    def _until(self, operation: Sequence[Any], end: float | None) -> float:
        """When an operation must be over that begins now."""
        own = time.monotonic() + self._talk.seconds(operation)
        return own if end is None else min(own, end)

    def close(self) -> None:
        """See `Channel`."""
        self._talk.over(ProgramKilled("died", "the program is closed"))


def _received(sock: socket.socket) -> bytes:
    try:
        for _ in range(LOOKS):
            try:
                return sock.recv(_READ, socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
        return sock.recv(_READ)
    except ConnectionError:
        return b""
