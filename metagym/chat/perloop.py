"""One value per event loop."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One value per running event loop, since asyncio's locks and sockets belong to the loop that first used them."""

    def __init__(self, make: Callable[[], T]) -> None:
        """`make` builds the value on its loop."""
        self._make = make
        self._values: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, T] = weakref.WeakKeyDictionary()

    def get(self) -> T:
        """The value of the running loop."""
        loop = asyncio.get_running_loop()
        value = self._values.get(loop)
        if value is None:
            value = self._values[loop] = self._make()
        return value

    def pop(self) -> T | None:
        """Forgets the value of the running loop and returns it; None where there is none."""
        return self._values.pop(asyncio.get_running_loop(), None)
