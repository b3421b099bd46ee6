"""The file that keeps replies: SQLite in WAL mode, one committed row per reply, shared by any number of processes.

A reply is on disk before its caller sees it, and survives the death of the process (kill -9) at any later moment. A
power cut may lose the last moments (``synchronous=NORMAL``), never the file.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar, get_args

from metagym.chat.codec import reply_from_text, reply_to_text
from metagym.chat.redact import redact
from metagym.chat.types import Reply
from metagym.episodes import Usage
from metagym.errors import BadInput, StoreCorrupt, StoreError, StoreLocked

CacheMode = Literal["off", "read", "write", "replay-only"]
"""``write`` reads and writes; ``read`` never writes; ``replay-only`` never calls the model; ``off`` does neither."""

APPLICATION_ID = 0x4D475243  # "MGRC": tells our files from other SQLite files
LOCK_SECONDS = 5.0
"""How long a writer waits for another process before it gives up."""

T = TypeVar("T")


class ReplyStore:
    """Replies by key, in one SQLite file.

    Attributes:
        path: The file.
        mode: See `CacheMode`.
    """

    def __init__(self, path: str | os.PathLike[str], mode: CacheMode = "write") -> None:
        """Opens the file; ``write`` makes it and its folder where they are missing.

        Raises:
            BadInput: No such mode.
            StoreError: The file cannot be used: missing, unreadable, read-only, locked, full disk, or no reply cache.
        """
        if mode not in get_args(CacheMode):
            raise BadInput(f"the cache mode is one of {', '.join(get_args(CacheMode))}, got {mode!r}")
        self.path = Path(path).expanduser()
        self.mode: CacheMode = mode
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._owner = -1
        if mode != "off":
            self._run(lambda connection: None)

    def get(self, key: str) -> Reply | None:
        """The reply under a key, marked as cached; None where there is none, or one that this version cannot read.

        Raises:
            StoreError: The file cannot be read.
        """
        row = self._run(
            lambda connection: connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        )
        return reply_from_text(row[0]) if row is not None and isinstance(row[0], str) else None

    def put(self, key: str, reply: Reply) -> None:
        """Keeps a reply; on return it survives the death of this process.

        Raises:
            StoreError: The file cannot be written (disk full, locked for more than `LOCK_SECONDS`, read-only).
        """
        text = reply_to_text(reply)

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("INSERT OR REPLACE INTO replies (key, reply) VALUES (?, ?)", (key, text))

        self._run(write)

    def paid(self) -> Usage:
        """What the replies in the file cost when they were made, added up."""

        def add(connection: sqlite3.Connection) -> Usage:
            rows = connection.execute("SELECT reply FROM replies")
            replies = (reply_from_text(row[0]) for row in rows if isinstance(row[0], str))
            return Usage.total(reply.usage for reply in replies if reply is not None)

        return self._run(add)

    def __len__(self) -> int:
        """Number of replies in the file."""
        return int(self._run(lambda connection: connection.execute("SELECT count(*) FROM replies").fetchone()[0]))

    def close(self) -> None:
        """Closes the file; a later use opens it again."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        """Closes the file."""
        if getattr(self, "_connection", None) is not None:
            self.close()

    def _run(self, use: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with self._lock:
                if self._connection is None or self._owner != os.getpid():  # never share a connection across a fork
                    self._connection = self._open()
                    self._owner = os.getpid()
                return use(self._connection)
        except sqlite3.Error as error:
            raise self._failure(error) from error
        except OSError as error:
            raise StoreError(f"reply cache {self._name}: {error.strerror or error}") from error

    def _open(self) -> sqlite3.Connection:
        if self.path.is_dir():
            raise StoreError(f"reply cache {self._name} is a folder; name a file, e.g. {self._name}/replies.sqlite")
        if self.mode == "write":
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return self._patiently(lambda: self._ready(self._connect("")))
        if not self.path.exists():
            raise StoreError(f"reply cache {self._name} does not exist, and mode {self.mode!r} makes none")
        try:
            return self._ready(self._connect("?mode=ro"))
        except sqlite3.OperationalError:
            # WAL needs a place for its side files; a recording in a read-only folder is read as the fixed file it is.
            return self._ready(self._connect("?immutable=1"))

    @staticmethod
    def _patiently(attempt: Callable[[], T]) -> T:
        # Turning a new file to WAL does not wait for another process that does the same: SQLite's timeout is not used.
        end = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                return attempt()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
            time.sleep(0.02)

    def _connect(self, options: str) -> sqlite3.Connection:
        address = self.path.absolute().as_uri() + options
        return sqlite3.connect(address, uri=True, timeout=LOCK_SECONDS, check_same_thread=False)

    def _ready(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        try:
            # In this order: another process makes table and mark in one transaction, maybe right now.
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            if application != APPLICATION_ID and (tables or self.mode != "write"):
                raise StoreError(f"{self._name} is a SQLite file and no reply cache; name another file")
            if self.mode == "write":
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                if application != APPLICATION_ID:
                    with connection:
                        connection.execute("BEGIN IMMEDIATE")
                        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                        connection.execute(
                            "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"
                        )
            else:
                connection.execute("SELECT 1 FROM replies LIMIT 1")
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def _name(self) -> str:
        return redact(str(self.path))

    def _failure(self, error: sqlite3.Error) -> StoreError:
        words = str(error)
        if "locked" in words or "busy" in words:
            return StoreLocked(f"reply cache {self._name} is locked by another process for over {LOCK_SECONDS:g} s")
        if "full" in words:
            return StoreError(f"reply cache {self._name} cannot grow: {words}; free some space and resume")
        if "malformed" in words or "not a database" in words or "corrupt" in words:
            return StoreCorrupt(f"reply cache {self._name} is damaged or no reply cache ({words}); move it away")
        return StoreError(f"reply cache {self._name} cannot be used: {words}")
