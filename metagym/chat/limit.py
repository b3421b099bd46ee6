"""Keeping within what a server allows: calls at once, requests per minute, tokens per minute."""

from __future__ import annotations

import asyncio
from collections import deque

from metagym.chat.layers import Layer
from metagym.chat.perloop import PerLoop
from metagym.chat.tokens import estimate_prompt
from metagym.chat.types import ChatModel, Reply, Request

MINUTE = 60.0


class _Window:
    """The requests of the last minute on one event loop."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()  # first come, first served
        self.sent: deque[tuple[float, int]] = deque()


class Pace:
    """Requests and tokens per minute, over any window of 60 s.

    Tokens are counted as servers do for their limits: the prompt (estimated) plus the most that may be written.
    """

    def __init__(self, rpm: int | None = None, tpm: int | None = None) -> None:
        """None is no limit.

        Args:
            rpm: Requests per minute.
            tpm: Tokens per minute; a single larger request is sent when the window is empty.
        """
        self._rpm = rpm
        self._tpm = tpm
        self._windows = PerLoop(_Window)

    async def admit(self, request: Request) -> None:
        """Waits until the request may be sent, and counts it."""
        if self._rpm is None and self._tpm is None:
            return
        tokens = estimate_prompt(request) + request.max_tokens
        window = self._windows.get()
        clock = asyncio.get_running_loop().time
        async with window.turn:
            while (wait := self._wait(window.sent, tokens, clock())) > 0:
                await asyncio.sleep(wait)
            window.sent.append((clock(), tokens))

    def _wait(self, sent: deque[tuple[float, int]], tokens: int, now: float) -> float:
        while sent and sent[0][0] <= now - MINUTE:
            sent.popleft()
        full = self._rpm is not None and len(sent) >= self._rpm
        full = full or (self._tpm is not None and bool(sent) and sum(t for _, t in sent) + tokens > self._tpm)
        return max(sent[0][0] + MINUTE - now, 0.001) if full else 0.0


class Limited(Layer):
    """At most so many calls at once, each sent at the pace that is set."""

    def __init__(self, inner: ChatModel, *, concurrency: int | None = None, pace: Pace | None = None) -> None:
        """Wraps `inner`; None is no limit.

        Args:
            inner: The model.
            concurrency: Calls at once; a call that waits for its next try keeps its place.
            pace: Shared with the retry layer, whose further requests count too.
        """
        super().__init__(inner)
        self._slots = PerLoop(lambda: asyncio.Semaphore(concurrency)) if concurrency is not None else None
        self._pace = pace or Pace()

    async def chat(self, request: Request) -> Reply:
        """Answers one request when its turn has come."""
        if self._slots is None:
            await self._pace.admit(request)
            return await self.inner.chat(request)
        async with self._slots.get():
            await self._pace.admit(request)
            return await self.inner.chat(request)
