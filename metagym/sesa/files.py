"""The files of a bank folder other than the journal: manifest, locks, and what is wrong with a damaged one."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metagym.errors import EmbedderMismatch, StoreCorrupt, StoreError, StoreLocked
from metagym.journal import sync_folder
from metagym.strictjson import strict_json

MANIFEST, JOURNAL, CARDS, VECTORS = "bank.json", "journal.jsonl", "cards", "vectors.npz"
FORMAT, VERSION = "metagym-skill-bank", 1

_LOCK, _OWNER = "bank.lock", "writer.lock"
_OURS = frozenset((_LOCK, _OWNER, ".tmp"))
_PATIENCE_S = 60.0
_MOST_MANIFEST = 1 << 20


def write_atomically(path: Path, data: bytes, durable: bool = False) -> None:
    """Replaces a file as a whole: readers see the old bytes or the new ones, and a failure leaves no trace.

    The caller holds the lock of the bank, so that one temporary name per folder is enough.

    Raises:
        StoreError: The disk refused it.
    """
    draft = path.parent / ".tmp"
    try:
        with open(draft, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise StoreError(f"{path} cannot be written: {error.strerror}; the bank itself is unchanged") from error
    if durable:
        sync_folder(os.fspath(path.parent))


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a regular file.

    Raises:
        StoreError: It is absent, unreadable, no regular file or larger than `most` bytes.
    """
    try:
        if path.is_symlink():
            raise StoreError(f"{path} is a symbolic link; a bank and what it imports are plain files")
        if path.exists() and not path.is_file():  # a pipe would wait for its other end for ever
            raise StoreError(f"{path} is no regular file; a bank and what it imports are plain files")
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise StoreError(f"{str(path)!r} is no usable file name: {error}") from None
    if len(data) > most:
        raise StoreError(f"{path} is larger than {most:,} bytes")
    return data


def blemish(data: bytes) -> str:
    """What an editor or a bad copy did to a text file, in words; "" for nothing that is known."""
    if not data:
        return "it is empty (0 bytes)"
    if data.startswith(b"\xef\xbb\xbf"):
        return "it begins with a byte order mark, which an editor added"
    if b"\0" in data:
        return "it holds NUL bytes"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 at byte {error.start}"
    if b"\r\n" in data:
        return "it has Windows line ends (CR LF), which an editor or a version control system added"
    return ""


def describe_damage(path: Path, error: StoreCorrupt) -> StoreCorrupt:
    """The error of a damaged journal, with its cause where that can be seen."""
    try:
        with open(path, "rb") as file:
            cause = blemish(file.read(1 << 26))
    except OSError:
        cause = ""
    advice = f"`metagym skills repair {path.parent} COPY` writes a copy with what is intact"
    return StoreCorrupt(f"{error}{f'; {cause}' if cause else ''}; {advice}")


def new_manifest(embedder: dict[str, Any], threshold: float) -> dict[str, Any]:
    """The manifest of a new bank."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "embedder": embedder,
        "dedup": {"metric": "cosine", "threshold": threshold},
    }


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Writes the manifest durably."""
    write_atomically(folder / MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode(), durable=True)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a bank, checked.

    Raises:
        StoreError: It is absent, unreadable, damaged, or of a newer version of the format.
    """
    path = folder / MANIFEST
    if not path.exists() and not path.is_symlink():
        if (folder / JOURNAL).exists():
            raise StoreCorrupt(
                f"{folder} holds a journal and no {MANIFEST}: restore it, it names embedder and threshold"
            )
        raise StoreError(f"{folder} is no skill bank: there is no {MANIFEST}")
    data = read_bytes(path, _MOST_MANIFEST)
    try:
        found = strict_json(data.decode("utf-8"))
    except ValueError as error:
        raise StoreCorrupt(f"{path} is no JSON: {blemish(data) or error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise StoreCorrupt(f"{path} is no manifest of a skill bank (format {FORMAT!r})")
    if found.get("version") != VERSION:
        raise StoreError(
            f"{path} is of version {found.get('version')!r} of the format; this MetaGym reads version {VERSION}"
        )
    embedder, dedup = found.get("embedder"), found.get("dedup")
    kinds = {"name": str, "version": str, "dim": int, "sha256": str}
    if not isinstance(embedder, dict) or any(type(embedder.get(key)) is not kind for key, kind in kinds.items()):
        raise StoreCorrupt(f"{path} does not say which embedder the bank was made with (name, version, dim, sha256)")
    if not isinstance(dedup, dict) or dedup.get("metric") != "cosine" or type(dedup.get("threshold")) is not float:
        raise StoreCorrupt(f"{path} does not say the threshold (dedup: metric cosine, threshold)")
    return found


def check_embedder(folder: Path, kept: dict[str, Any], given: dict[str, Any]) -> None:
    """Compares the embedder of a bank with the one at hand.

    Raises:
        EmbedderMismatch: They differ.
    """
    if {key: kept[key] for key in given} != given:

        def named(facts: dict[str, Any]) -> str:
            return f"{facts['name']} {facts['version']} ({facts['dim']} wide, sha256 {facts['sha256'][:12]})"

        raise EmbedderMismatch(
            f"{folder} was made with the embedder {named(kept)} and is opened with {named(given)}: cosines and the "
            f"threshold do not carry over; open it with its own, or export the cards and import them into a new bank"
        )


def is_new(folder: Path) -> bool:
    """Whether a bank can be made in a folder: absent, or empty but for what a killed start left."""
    try:
        return not folder.exists() or all(name in _OURS for name in os.listdir(folder))
    except OSError as error:
        raise StoreError(f"{folder} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise StoreError(f"{str(folder)!r} is no usable folder name: {error}") from None


class BankLock:
    """The writers' lock of a bank: one check-and-append at a time, over processes. It is no lock between threads.

    Args:
        folder: The bank.
        single: Hold one lock from open to close instead, as a file that is made exclusively; it works on network file
            systems whose `flock` is unknown to other hosts.
    """

    def __init__(self, folder: Path, single: bool) -> None:
        self._owner = folder / _OWNER if single else None
        self._path = folder / _LOCK
        self._depth = 0
        try:
            if self._owner is not None:
                self._own(self._owner)
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            self._disown()
            raise StoreError(f"{self._path} cannot be written: {error.strerror}") from error

    def _own(self, owner: Path) -> None:
        try:
            fd = os.open(owner, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            self._owner = None
            holder = owner.read_text("utf-8", "replace").strip() or "another writer"
            raise StoreLocked(
                f"{owner.parent} is being written by {holder}; if that process is gone, delete {owner.name}"
            ) from None
        os.write(fd, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        os.close(fd)

    def _disown(self) -> None:
        if self._owner is not None:
            with contextlib.suppress(OSError):
                self._owner.unlink()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Holds it; inner uses by the same holder cost nothing."""
        if self._depth == 0 and self._owner is None:
            self._take()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0 and self._owner is None:
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _take(self) -> None:
        deadline, wait = time.monotonic() + _PATIENCE_S, 0.0001
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise StoreLocked(f"{self._path} is held by another writer for {_PATIENCE_S:.0f} s") from None
                time.sleep(wait)
                wait = min(0.005, wait * 2)
            except OSError as error:
                raise StoreError(
                    f"{self._path} cannot be locked on this file system: {error.strerror}; open the bank with "
                    "single_writer=True"
                ) from error

    def close(self) -> None:
        """Gives it back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._disown()
