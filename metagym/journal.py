r"""A crash-safe, append-only store of JSON records with unique keys.

One record is one line of UTF-8 JSON, so that people, ``jq``, ``diff`` and any JSON Lines reader can work with a store::

    {"key":"turn/0/prompt","value":{"kind":"prompt","turn":0,"prompt":"Be brief."},"crc":"5d2c1f7e"}

``crc`` is the CRC-32 (zlib, 8 hex digits) of the bytes of the line before ``,"crc":``. Text is written as it is; only
control characters, line separators, direction marks and lone surrogates are escaped, so that what an editor shows is
what is there. NaN and infinities never get in: every line passes a strict parser.

What a writer acknowledged (its `Journal.append` returned) survives kill -9 and, as far as the disk keeps its word,
power loss: it was written and fsynced. A last line without its newline is a write that was never acknowledged: readers
pass over it, the next writer cuts it off. Any other damage raises `StoreCorrupt`, since acknowledged data is lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import stat
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from metagym.errors import BadInput, StoreCorrupt, StoreError, StoreLocked
from metagym.strictjson import plain_json, strict_json

Mode = Literal["r", "w", "shared"]

_CRC_MARK = b',"crc":"'
_TAIL_BYTES = len(_CRC_MARK) + 8 + len(b'"}')
# Written as \uXXXX: C1 controls, separators that some readers split lines at, direction marks, BOM, lone surrogates.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_PATIENCE_S = {"w": 0.5, "shared": 30.0}


class Journal:
    """The store; see the module's text for its format. Make one with `Journal.open`.

    Values are read from disk when they are asked for; in memory is only where each key stands. Methods may be called
    from several threads.
    """

    def __init__(self, path: str, mode: Mode, timeout_s: float | None) -> None:
        self.path = path
        self.mode = mode
        self._index: dict[str, tuple[int, int]] = {}
        self._end = 0  # bytes of whole lines read so far
        self._lines = 0
        self._fd = -1
        self._lock_fd = -1
        self._broken = ""
        self._thread_lock = threading.RLock()
        self._patience_s = _PATIENCE_S.get(mode, 0.0) if timeout_s is None else timeout_s

    @classmethod
    def open(cls, path: str | os.PathLike[str], mode: Mode = "r", timeout_s: float | None = None) -> Journal:
        """Opens a store and checks every line of it.

        Args:
            path: The ``.jsonl`` file; a writer makes it where it is absent.
            mode: ``"r"`` reads, needs no lock and works in a read-only folder. ``"w"`` holds the writer's lock until
                `close`. ``"shared"`` takes the lock around each append and reads what others wrote first, for several
                writers in several processes.
            timeout_s: How long to wait for the lock, seconds; by default 0.5 for ``"w"`` and 30 for ``"shared"``.

        Raises:
            StoreLocked: Another writer holds the lock; the message names it.
            StoreCorrupt: A line is damaged; the message names file and line.
            StoreError: The file is absent (reading), unreadable or not writable.
            BadInput: `mode` is none of the three.
        """
        if mode not in ("r", "w", "shared"):
            raise BadInput(f"a journal is opened with mode 'r', 'w' or 'shared', got {mode!r}")
        journal = cls(os.fspath(path), mode, timeout_s)
        try:
            journal._open()
        except BaseException:
            journal.close()
            raise
        return journal

    def append(self, key: str, value: Any) -> bool:
        """Stores one record; when this returns, the record is on disk.

        Returns:
            True if it was written, False if the very same record was there already.

        Raises:
            StoreError: The key holds another value, or the disk refused the write (nothing is half-written then).
            StoreLocked: ``"shared"`` waited for the lock in vain.
            BadInput: The value has no strict JSON form (see `plain_json`), or the store is open for reading.
        """
        return self.append_many([(key, value)]) == 1

    def append_many(self, items: Iterable[tuple[str, Any]]) -> int:
        """Stores several records with one write and one fsync; returns how many were new.

        All are checked before the first is written. A kill during the write may leave the first few of them.

        Raises:
            StoreError, StoreLocked, BadInput: As for `append`.
        """
        batch: dict[str, bytes] = {}
        for key, value in items:
            encoded = _encode(key, value)
            if batch.setdefault(key, encoded) != encoded:
                raise StoreError(f"{self.path}: one batch holds two different records for key {key!r}")
        with self._thread_lock:
            self._check_writable()
            if self.mode == "w":
                return self._write(batch)
            with _Held(self):
                return self._write(batch)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        with self._thread_lock:
            place = self._index.get(key)
            return default if place is None else self._read(key, place)

    def keys(self) -> tuple[str, ...]:
        """The keys in the order in which they were written."""
        with self._thread_lock:
            return tuple(self._index)

    def records(self) -> Iterator[tuple[str, Any]]:
        """Key and value of every record, in the order in which they were written."""
        for key in self.keys():
            yield key, self.get(key)

    def refresh(self) -> None:
        """Reads what other processes wrote since (``"shared"`` does so at each append)."""
        with self._thread_lock:
            if self._fd >= 0 and self.mode != "w":
                self._scan()

    def __contains__(self, key: object) -> bool:
        """Whether the key is there."""
        return key in self._index

    def __len__(self) -> int:
        """Number of records."""
        return len(self._index)

    def close(self) -> None:
        """Closes the file and gives the lock back; a second call does nothing."""
        with self._thread_lock:
            for name in ("_fd", "_lock_fd"):
                fd = getattr(self, name)
                setattr(self, name, -1)
                if fd >= 0:
                    os.close(fd)

    def __enter__(self) -> Journal:
        """The journal itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    # --- opening and reading

    def _open(self) -> None:
        if self.mode == "r":
            self._fd = self._os_open(self.path, os.O_RDONLY | os.O_NONBLOCK, "read")  # a pipe would wait for a writer
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                raise StoreError(f"{self.path} cannot be read: it is no regular file")
            self._scan()
            return
        self._lock_fd = self._os_open(self.path + ".lock", os.O_RDWR | os.O_CREAT, "written")
        new = not os.path.exists(self.path)
        self._fd = self._os_open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, "written")
        if new:
            sync_folder(os.path.dirname(self.path) or ".")
        if self.mode == "w":
            self._take_lock()
            self._scan(writing=True)
        else:
            with _Held(self):
                self._scan(writing=True)

    def _os_open(self, path: str, flags: int, verb: str) -> int:
        try:
            return os.open(path, flags | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:
            missing = "there is no such file" if self.mode == "r" else "its folder does not exist"
            raise StoreError(f"{self.path} cannot be {verb}: {missing}") from None
        except OSError as error:
            raise StoreError(f"{self.path} cannot be {verb}: {error.strerror}") from error
        except ValueError as error:  # a NUL in the path, or text that the file system cannot express
            raise StoreError(f"{self.path!r} is no usable file name: {error}") from error

    def _scan(self, writing: bool = False) -> None:
        """Reads the whole lines after `_end`; a writer under its lock also repairs the tail."""
        try:
            size = os.fstat(self._fd).st_size
            if size < self._end:
                raise StoreCorrupt(f"{self.path} shrank from {self._end} to {size} bytes while it was open")
            data = _pread(self._fd, size - self._end, self._end)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror}") from error
        start = 0
        while (stop := data.find(b"\n", start)) >= 0:
            self._take_line(data[start:stop], self._end + start)
            start = stop + 1
        self._end += start
        if writing and start < len(data):
            self._repair(data[start:])

    def _take_line(self, line: bytes, offset: int) -> None:
        place = f"{self.path}, line {self._lines + 1}"
        record = _decode(line, place)
        if self._index.setdefault(record["key"], (offset, len(line))) != (offset, len(line)):
            raise StoreCorrupt(f"{place}: key {record['key']!r} stands there for the second time")
        self._lines += 1

    def _repair(self, tail: bytes) -> None:
        try:
            try:
                _decode(tail, "")
            except StoreCorrupt:
                os.ftruncate(self._fd, self._end)  # a write that nobody was told had succeeded
            else:
                os.write(self._fd, b"\n")  # whole but for its newline: an editor took it
            os.fsync(self._fd)
        except OSError as error:
            raise StoreError(f"{self.path}: its torn last line cannot be cut off: {error.strerror}") from error
        if os.fstat(self._fd).st_size > self._end:
            self._scan()

    def _read(self, key: str, place: tuple[int, int]) -> Any:
        if self._fd < 0:
            raise StoreError(f"{self.path} is closed")
        offset, size = place
        try:
            line = _pread(self._fd, size, offset)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror}") from error
        return _decode(line, f"{self.path}, record {key!r}")["value"]

    # --- writing

    def _check_writable(self) -> None:
        if self._fd < 0:
            raise StoreError(f"{self.path} is closed")
        if self.mode == "r":
            raise BadInput(f"{self.path} is open for reading; open it with mode 'w' or 'shared' to append")
        if self._broken:
            raise StoreError(f"{self.path} takes no more records: {self._broken}")

    def _write(self, batch: dict[str, bytes]) -> int:
        """Appends the new ones of a batch; the lock is held."""
        if os.fstat(self._fd).st_size != self._end:  # others wrote, or Ctrl-C fell between a write and its bookkeeping
            self._scan(writing=True)
        lines: dict[str, bytes] = {}
        for key, line in batch.items():
            if (place := self._index.get(key)) is None:
                lines[key] = line
            elif not _same(self._read(key, place), strict_json(line)["value"]):
                raise StoreError(f"{self.path}: key {key!r} already holds another value; a record is never changed")
        if not lines:
            return 0
        self._put(b"".join(line + b"\n" for line in lines.values()))
        for key, line in lines.items():
            self._index[key] = (self._end, len(line))
            self._end += len(line) + 1
            self._lines += 1
        return len(lines)

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
            os.fsync(self._fd)
        except BaseException as error:  # Ctrl-C included: no half line may stay for the next append to follow
            try:
                os.ftruncate(self._fd, self._end)
            except OSError as second:
                self._broken = f"an earlier write failed and could not be undone ({second.strerror})"
            if isinstance(error, OSError):
                raise StoreError(f"{self.path} cannot be written: {error.strerror}; nothing was stored") from error
            raise

    def _take_lock(self) -> None:
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    holder = os.pread(self._lock_fd, 200, 0).decode("utf-8", "replace").strip() or "another writer"
                    raise StoreLocked(
                        f"{self.path} is being written by {holder}; wait for it to finish or stop it first"
                    ) from None
                time.sleep(0.005)
            except OSError as error:
                raise StoreError(f"{self.path} cannot be locked on this file system: {error.strerror}") from error
            else:
                break
        note = f"process {os.getpid()}\n".encode()
        with contextlib.suppress(OSError):  # it only tells others who holds the lock; a full disk may not take it
            if os.pread(self._lock_fd, len(note) + 1, 0) != note:
                os.pwrite(self._lock_fd, note, 0)
                os.ftruncate(self._lock_fd, len(note))

    def _drop_lock(self) -> None:
        fcntl.flock(self._lock_fd, fcntl.LOCK_UN)


class _Held:
    """The writer's lock of a shared journal, for one append."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __enter__(self) -> None:
        self._journal._take_lock()

    def __exit__(self, *_: object) -> None:
        self._journal._drop_lock()


def sync_folder(folder: str) -> None:
    """Makes a new or renamed entry of a folder durable; file systems that cannot are left alone."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # a folder that may be entered and not read: nothing more can be done
    try:
        os.fsync(fd)
    except OSError:
        pass  # some network file systems refuse fsync on folders; the data itself was synced
    finally:
        os.close(fd)


def parse_line(line: bytes, place: str) -> tuple[str, Any]:
    """Key and value of one line, for whoever reads a damaged store line by line.

    Args:
        line: Without its newline.
        place: How messages call it.

    Raises:
        StoreCorrupt: The line is damaged.
    """
    record = _decode(line, place)
    return record["key"], record["value"]


_TEXT_OF = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False).encode
"""Circles were refused before, by `plain_json`."""


def _encode(key: Any, value: Any) -> bytes:
    if not isinstance(key, str) or not key:
        raise BadInput(f"the key of a record is non-empty text, got {key!r}")
    body = {"key": plain_json(key), "value": plain_json(value, f"record {key!r}: value")}
    try:
        text = _TEXT_OF(body)
    except ValueError as error:  # Python refuses to print integers of thousands of digits
        raise BadInput(f"record {key!r} cannot be stored as JSON: {error}") from None
    text = _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    covered = text[:-1].encode("utf-8")
    return covered + _CRC_MARK + b'%08x"}' % zlib.crc32(covered)


def check_line(line: bytes, place: str) -> None:
    """Holds one line against its checksum, without reading what it says.

    Args:
        line: Without its newline.
        place: How messages call it.

    Raises:
        StoreCorrupt: The checksum does not fit.
    """
    covered, tail = line[:-_TAIL_BYTES], line[-_TAIL_BYTES:]
    if tail != _CRC_MARK + b'%08x"}' % zlib.crc32(covered):
        raise StoreCorrupt(f"{place}: the record is damaged (checksum does not fit); restore it from a copy")


def _decode(line: bytes, place: str) -> dict[str, Any]:
    check_line(line, place)
    try:
        record = strict_json(line)
    except ValueError as error:
        raise StoreCorrupt(f"{place}: the record is no JSON ({error})") from None
    if not isinstance(record, dict) or set(record) != {"key", "value", "crc"} or not isinstance(record["key"], str):
        raise StoreCorrupt(f"{place}: the line is no record of a journal")
    return record


def _same(left: Any, right: Any) -> bool:
    """Equal as JSON texts with sorted keys: 1, 1.0 and true are three different values."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def _pread(fd: int, size: int, offset: int) -> bytes:
    parts = []
    while size > 0 and (part := os.pread(fd, min(size, 1 << 26), offset)):
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return b"".join(parts)
