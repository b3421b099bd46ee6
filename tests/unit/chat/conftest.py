"""What the tests of the chat room share."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from metagym.chat import Message, Request


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own settings stay out of the tests."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ask() -> Callable[..., Request]:
    """Makes a request of one user message."""

    def make(text: str = "hello", **settings: Any) -> Request:
        return Request((Message("user", text),), **settings)

    return make


class _InstantSelector(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout > 0:
            self.now += timeout
            timeout = 0
        return super().select(timeout)


class _InstantLoop(asyncio.SelectorEventLoop):
    """A loop on which waiting takes no time but moves the clock: for tests of waits without sockets."""

    def __init__(self) -> None:
        self._instant = _InstantSelector()
        super().__init__(self._instant)

    def time(self) -> float:
        return self._instant.now


@pytest.fixture
def run_instantly() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Like asyncio.run, on a clock that jumps."""

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=_InstantLoop) as runner:
            return runner.run(work)

    return run
