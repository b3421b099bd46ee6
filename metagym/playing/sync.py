"""Running coroutines from ordinary code: one event loop in a daemon thread, whatever the caller's own thread does.

A loop of our own, rather than `asyncio.run` per call, lets model connections and worker processes live across calls,
and works where the caller has a running loop already (notebooks).
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from metagym.errors import HostError

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None
_CHECK_SECONDS = 1.0


def _forget() -> None:
    """A forked child has the loop's memory but not its thread."""
    global _loop, _lock
    _loop, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


def background_loop() -> asyncio.AbstractEventLoop:
    """The loop that `run` uses, started at first use, and again if something ended its thread."""
    global _loop, _thread
    with _lock:
        if _loop is None or _thread is None or not _thread.is_alive():
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="metagym-loop", daemon=True)
            _thread.start()
        return _loop


def inside() -> bool:
    """Whether the caller runs on that loop, where nothing can be waited for."""
    try:
        return asyncio.get_running_loop() is background_loop()
    except RuntimeError:
        return False


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs `coroutine` to its end and returns its result; Ctrl-C cancels it at its next wait and is raised at once."""
    loop = background_loop()
    if inside():
        coroutine.close()
        raise RuntimeError("a synchronous call was made from MetaGym's own event loop; await the asynchronous twin")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    thread = _thread
    try:
        while True:
            try:
                return future.result(_CHECK_SECONDS)
            except TimeoutError:
                if future.done():  # it is the coroutine's own
                    raise
                if thread is None or not thread.is_alive():
                    raise HostError("the event loop was ended by what ran on it (KeyboardInterrupt?)") from None
    except BaseException:
        future.cancel()
        raise
