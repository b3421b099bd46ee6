"""One pool for a process, however many threads ask for it at once."""

from __future__ import annotations

import os
import threading
import time
from typing import cast

from metagym.sandbox.scripts import ScriptPool, SharedPool

THREADS = 32


class Slow:
    """Stands for a pool whose making gives other threads their turn, as reading a file does."""

    made = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.started = 0
        time.sleep(0.02)

    def start(self) -> Slow:
        """Counts."""
        self.started += 1
        return self


def slow() -> ScriptPool:
    return cast(ScriptPool, Slow())


def test_threads_that_ask_at_once_get_one_pool() -> None:
    Slow.made = 0
    pool, gate = SharedPool(slow), threading.Barrier(THREADS)
    found: list[ScriptPool] = []

    def ask() -> None:
        gate.wait()
        found.append(pool())

    threads = [threading.Thread(target=ask) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Slow.made == 1 and len(found) == THREADS and len({id(one) for one in found}) == 1
    assert cast(Slow, found[0]).started == THREADS  # each call makes sure that its zygote is alive


def test_a_forked_process_makes_its_own_even_where_the_lock_was_held() -> None:
    pool = SharedPool(slow)
    ours = pool()
    with pool._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if pool() is not ours else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and pool() is ours
