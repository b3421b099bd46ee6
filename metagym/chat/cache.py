"""The reply cache: what was paid once is never paid again, and a recorded run plays without any model."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

from metagym.chat.codec import cache_key
from metagym.chat.layers import Layer
from metagym.chat.perloop import PerLoop
from metagym.chat.store import ReplyStore
from metagym.chat.types import ChatModel, Reply, Request
from metagym.errors import CacheMiss, ChatError

if TYPE_CHECKING:
    from metagym.chat.accounts import Ledger

_Outcome = tuple[Reply | None, ChatError | None]
_Flying = dict[str, "asyncio.Future[_Outcome | None]"]


class Cached(Layer):
    """Answers from the store where it can, and keeps what it had to ask for.

    Equal requests that are on their way at the same time are asked once. A reply from the store equals the one that was
    kept but for ``cached=True`` and ``attempts=0``; its usage says what it cost when it was made. Neither errors nor
    unusable bodies (absence ``error``) are kept.

    Attributes:
        store: The file.
    """

    def __init__(self, inner: ChatModel, store: ReplyStore, *, seat: str = "", ledger: Ledger | None = None) -> None:
        """Wraps `inner`.

        Args:
            inner: The model, with its accounts, limits and retries.
            store: Where replies are kept; may be shared by several models.
            seat: Account of requests without a tag.
            ledger: Accounts that count the replies for which nothing was paid.
        """
        super().__init__(inner)
        self.store = store
        self._seat = seat
        self._ledger = ledger
        self._flying: PerLoop[_Flying] = PerLoop(dict)

    async def chat(self, request: Request) -> Reply:
        """Answers one request.

        Raises:
            CacheMiss: The mode is ``replay-only`` and the reply is not in the file.
            StoreError: The file cannot be used.
        """
        key = cache_key(self.inner.id, request)
        flying = self._flying.get()
        while True:
            reply = self.store.get(key)
            if reply is not None:
                return self._for_nothing(request, reply)
            if self.store.mode == "replay-only":
                raise CacheMiss(self._miss(request, key))
            if key not in flying:
                return await self._ask(key, request, flying)
            outcome = await asyncio.shield(flying[key])
            if outcome is None:
                continue  # whoever asked was cancelled: look again, and ask ourselves if need be
            reply, error = outcome
            if reply is None:
                assert error is not None
                raise error
            return self._for_nothing(request, reply)

    async def aclose(self) -> None:
        """Closes the file; a later call, or another model that shares it, opens it again."""
        self.store.close()

    async def _ask(self, key: str, request: Request, flying: _Flying) -> Reply:
        landed: asyncio.Future[_Outcome | None] = asyncio.get_running_loop().create_future()
        flying[key] = landed
        outcome: _Outcome | None = None
        try:
            reply = await self.inner.chat(request)
            outcome = (reply, None)
            if self.store.mode == "write" and reply.absence != "error":
                self.store.put(key, reply)
            return reply
        except ChatError as error:
            outcome = (None, error)
            raise
        finally:
            del flying[key]
            landed.set_result(outcome)

    def _for_nothing(self, request: Request, reply: Reply) -> Reply:
        if not reply.cached:  # it came with an equal request that was on its way
            reply = dataclasses.replace(reply, cached=True, attempts=0)
        if self._ledger is not None:
            self._ledger.note_cached(request.tag or self._seat, reply)
        return reply

    def _miss(self, request: Request, key: str) -> str:
        last = " ".join(request.messages[-1].content.split())[:80] if request.messages else ""
        return (
            f"replay-only: {self.store.path} holds no reply of {self.inner.id} for this request of seat "
            f"{request.tag or self._seat or '-'} (key {key[:12]}, sample {request.sample}, seed {request.seed}, "
            f"ending {last!r}); record it with cache mode 'write'"
        )
