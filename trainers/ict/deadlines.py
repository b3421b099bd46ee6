"""One deadline after another for a task: what `asyncio.timeout` does for each, with one timer for all.

A worker plays hundreds of short episodes, and a timer for each costs more than all else that is done for it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Late(Exception):
    """A deadline has passed."""


class Deadlines:
    """Deadlines of the task that makes it, one at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None, "deadlines are a task's"
        self._task: asyncio.Task[object] = task
        self._until = math.inf
        self._passed = False
        self._timer: asyncio.TimerHandle | None = None

    async def within(self, seconds: float, work: Awaitable[T]) -> T:
        """Awaits work, and cancels it where it does not end in time.

        Raises:
            Late: It did not.
            CancelledError: Somebody else cancelled the task.
        """
        before, self._passed, self._until = self._task.cancelling(), False, self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._until:
            self._arm()
        try:
            found = await work
        except BaseException as error:  # the work may have made another error of its cancellation
            ours = self._passed and self._task.uncancel() <= before
            if ours and isinstance(error, asyncio.CancelledError):
                raise Late from None
            raise
        finally:
            self._until = math.inf
        if self._passed:
            self._task.uncancel()
        return found

    def close(self) -> None:
        """Takes the timer away."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        self.close()
        self._timer = self._loop.call_at(self._until, self._look)

    def _look(self) -> None:
        """The timer's: it was set for a deadline that may be gone by now, and looks at the present one."""
        self._timer = None
        if self._until == math.inf:
            return  # the next deadline sets it again
        if self._loop.time() < self._until:
            self._arm()
        else:
            self._passed = True
            self._task.cancel()
