"""What a script in a worker finds in place of files: its input, an output of bounded length, and no threads.

A confined worker has no usable files and cannot start threads. Scripts that people and models write for judges read
their input in several ways (``input()``, ``sys.stdin.buffer``, ``open(0)``, ``os.read(0, ...)``), and start one thread
for a deeper stack. These ways lead to text in memory here, and a thread runs to its end where it is started. None of
this protects anything: the confinement of the process does.
"""

from __future__ import annotations

import atexit
import builtins
import io
import os
import sys
import threading
from types import SimpleNamespace
from typing import Any


class OutputFull(BaseException):
    """The script wrote more than it may; not an `Exception`, so that it seldom catches it."""


class _Captured(io.RawIOBase):
    """Keeps what is written, up to a number of bytes.

    Attributes:
        full: More was written than is kept.
    """

    def __init__(self, number: int, room: int) -> None:
        self.kept, self.full = bytearray(), False
        self._number, self._room = number, room

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number

    def write(self, data: Any) -> int:
        piece = bytes(data)
        if len(self.kept) + len(piece) > self._room:
            self.full = True
            raise OutputFull
        self.kept += piece
        return len(piece)


class _Given(io.BytesIO):
    """The input."""

    def fileno(self) -> int:
        return 0


class Stdio:
    """Input and outputs of one script; puts itself in place of the process's own, for good.

    Args:
        given: What the script reads.
        room: Bytes of output that are kept; standard error has as many, which are thrown away.
    """

    def __init__(self, given: bytes, room: int) -> None:
        self._out = _Captured(1, room)
        self._given = _Given(given)
        raw = {1: self._out, 2: _Captured(2, room)}
        sys.stdin = sys.__stdin__ = io.TextIOWrapper(self._given, "utf-8", "replace")  # type: ignore[misc]
        self._stdout = sys.stdout = sys.__stdout__ = _text(raw[1])  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = _text(raw[2])  # type: ignore[misc]
        _open, _read, _write, _fstat = io.open, os.read, os.write, os.fstat

        def opened(file: Any, mode: str = "r", *more: Any, **settings: Any) -> Any:
            number = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}.get(file, file) if _hashable(file) else file
            if type(number) is not int or not 0 <= number <= 2:
                return _open(file, mode, *more, **settings)
            stream: Any = (sys.stdin, sys.stdout, sys.stderr)[number]
            return stream.buffer if "b" in mode else stream

        def write(fd: int, data: bytes) -> int:
            if fd not in raw:
                return _write(fd, data)
            stream: Any = (sys.stdout, sys.stderr)[fd - 1]
            if stream is self._stdout:
                stream.flush()
            return raw[fd].write(data)

        system: Any = os
        thread: Any = threading.Thread
        builtins.open = io.open = opened
        system.read = lambda fd, count: self._given.read(count) if fd == 0 else _read(fd, count)
        system.write = write
        system.fstat = lambda fd: SimpleNamespace(st_size=len(given)) if fd == 0 else _fstat(fd)
        thread.start = lambda thread: thread.run()
        thread.join = lambda thread, timeout=None: None

    def finish(self) -> tuple[str, bool]:
        """Ends the script as an interpreter would (exit functions, flushing); its output and whether it is whole."""
        try:
            atexit._run_exitfuncs()
            for stream in (sys.stdout, self._stdout):
                if stream is not None and not stream.closed:
                    stream.flush()
        except OutputFull:
            pass
        return self._out.kept.decode("utf-8", "replace"), not self._out.full


def _text(raw: _Captured) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(raw, 65_536), "utf-8", "backslashreplace", newline="")


def _hashable(value: Any) -> bool:
    return type(value) in (int, str)
