"""One pool of scripts for a whole process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from metagym.sandbox.scripts.pool import ScriptPool


class SharedPool:
    """A pool that is made at first use; any thread may ask, and a process that was forked makes its own.

    `functools.lru_cache` is none: threads that ask at once before it is filled make a pool each, and so a zygote with
    all that it loads.

    Args:
        make: Makes the pool.
    """

    def __init__(self, make: Callable[[], ScriptPool]) -> None:
        self._make = make
        self._found: ScriptPool | None = None
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._forget)

    def __call__(self) -> ScriptPool:
        """The pool, started.

        Raises:
            SandboxUnavailable: A layer of the sandbox is missing.
        """
        with self._lock:
            if self._found is None:
                self._found = self._make()
            found = self._found
        return found.start()

    def _forget(self) -> None:
        """In a fork, in which no other thread is left: one may have held the lock."""
        self._found, self._lock = None, threading.Lock()
