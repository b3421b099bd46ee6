"""What workers compiled, for other workers of the same program: bytes that this process keeps and never looks into.

A worker compiles before it runs anything of a program, and sends the code off at once. A later worker of the same
source gets it along with the source and is spared the compiling, which is most of the time of loading. Nothing comes
to a worker by this that did not come from its own program's text.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

MOST_CHARS = 2**23
"""Characters that a shelf keeps: some hundred programs."""

LONGEST = 196_608
"""Longest code that is kept, in characters: with the longest source it still fits into one request."""


class Shelf:
    """Code by digest of its source; the one that was not asked for the longest is dropped first. For any thread.

    Args:
        most: Characters that it keeps.
    """

    def __init__(self, most: int = MOST_CHARS) -> None:
        self._most, self._chars = most, 0
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str) -> str:
        """The code of a source; "" where there is none."""
        with self._lock:
            found = self._kept.get(digest, "")
            if found:
                self._kept.move_to_end(digest)
            return found

    def put(self, digest: str, code: str | None) -> None:
        """Keeps what a worker sent; the first one of a source stays."""
        with self._lock:
            if not code or len(code) > LONGEST or digest in self._kept:
                return
            self._kept[digest] = code
            self._chars += len(code)
            while self._chars > self._most:
                self._chars -= len(self._kept.popitem(last=False)[1])
