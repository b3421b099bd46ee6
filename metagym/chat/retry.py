"""The one owner of the retry policy: clients make one request per call and never try again by themselves."""

from __future__ import annotations

import asyncio
import dataclasses

from metagym.chat.layers import Layer
from metagym.chat.limit import Pace
from metagym.chat.types import ChatModel, Reply, Request
from metagym.errors import ChatError, RateLimited, ServerUnavailable
from metagym.seeding import rng

BASE_WAIT = 0.5
"""Upper end of the first waiting time, in seconds; it doubles with each try."""
MAX_WAIT = 30.0
"""Longest waiting time of our own choice, in seconds; a server may ask for more."""


class Retrying(Layer):
    """Tries again after `RateLimited` and `ServerUnavailable`, and after nothing else.

    Waiting times have full jitter: uniform between 0 and a bound that doubles (Brooker, "Exponential Backoff and
    Jitter", AWS Architecture Blog, 2015). Where the server asks for a wait, it gets at least that.
    """

    def __init__(
        self,
        inner: ChatModel,
        *,
        retries: int = 5,
        timeout: float = 120.0,
        deadline: float = 600.0,
        seed: int = 0,
        pace: Pace | None = None,
    ) -> None:
        """Wraps `inner`.

        Args:
            inner: A model that makes one request per call.
            retries: Further requests after the first; 0 makes one request.
            timeout: Seconds for one request, from connecting to the last byte.
            deadline: Seconds for the call with all its tries and waits.
            seed: Seed of the waiting times.
            pace: Limit that further requests count against too.
        """
        super().__init__(inner)
        self._retries = retries
        self._timeout = timeout
        self._deadline = deadline
        self._seed = seed
        self._pace = pace
        self._calls = 0

    async def chat(self, request: Request) -> Reply:
        """Answers one request.

        Raises:
            RateLimited: The server still said 429 at the last try.
            ServerUnavailable: It could not be reached, was silent, or failed at the last try.
            ChatError: A failure that no second try can cure.
        """
        clock = asyncio.get_running_loop().time
        start = clock()
        dice = None
        attempt = 0
        while True:
            attempt += 1
            try:
                reply = await self._once(request, self._deadline - (clock() - start))
                return reply if attempt == 1 else dataclasses.replace(reply, attempts=attempt, seconds=clock() - start)
            except (RateLimited, ServerUnavailable) as error:
                failure: ChatError = error
            except ChatError as error:
                error.attempts = attempt
                raise
            if dice is None:
                dice = rng(self._seed, "retry", self._calls)
                self._calls += 1
            wait = dice.uniform(0.0, min(MAX_WAIT, BASE_WAIT * 2.0 ** (attempt - 1)))
            if failure.retry_after is not None:
                wait = failure.retry_after + min(wait, BASE_WAIT)
            elapsed = clock() - start
            if attempt > self._retries:
                raise _final(failure, f"{attempt} requests in {elapsed:.1f} s, retries={self._retries}", attempt)
            if elapsed + wait >= self._deadline:
                raise _final(failure, f"waiting {wait:.1f} s more would pass deadline={self._deadline:g}", attempt)
            await asyncio.sleep(wait)
            if self._pace is not None:
                await self._pace.admit(request)

    async def _once(self, request: Request, left: float) -> Reply:
        limit = min(self._timeout, left)
        try:
            async with asyncio.timeout(limit):
                return await self.inner.chat(request)
        except TimeoutError:
            raise ServerUnavailable(f"{self.inner.id} gave no answer within {limit:.3g} s") from None


def _final(failure: ChatError, why: str, attempts: int) -> ChatError:
    final = type(failure)(f"{failure} ({why})")
    final.retry_after = failure.retry_after
    final.attempts = attempts
    final.__cause__ = failure
    return final
