"""Any callable as a chat model: stand-ins, test doubles, and other libraries' clients."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import lru_cache
from typing import Any

from metagym.chat.types import Backend, ChatModel, Reply, Request
from metagym.episodes import Usage
from metagym.errors import BadInput, ChatError

Answer = str | Reply | None
"""What a scripted callable returns: the text, a whole reply, or None (or "") for no answer."""

_ONE_CALL = Usage(calls=1)  # a script reads and writes no tokens


class Scripted:
    """A `ChatModel` whose replies come from a callable; made by `scripted`."""

    def __init__(self, call: Callable[[Request], Answer | Awaitable[Answer]], id: str, backend: Backend) -> None:
        """Wraps `call`; see `scripted`."""
        self._call = call
        self._id = id
        self._backend: Backend = backend
        # Replies are immutable and scripts repeat themselves: building one costs more than all the rest of a call.
        self._reply = lru_cache(maxsize=1024)(self._build)

    def __reduce__(self) -> Any:
        """Copies in other processes have a memory of their own."""
        return type(self), (self._call, self._id, self._backend)

    @property
    def id(self) -> str:
        """Name of the model."""
        return self._id

    @property
    def backend(self) -> Backend:
        """Kind of model, ``scripted`` unless told otherwise."""
        return self._backend

    async def chat(self, request: Request) -> Reply:
        """Answers one request with what the callable says.

        Raises:
            ChatError: The callable raised, or returned something that is no answer.
        """
        started = self.start(request)
        return started if isinstance(started, Reply) else await started

    def start(self, request: Request) -> Reply | Coroutine[Any, Any, Reply]:
        """`chat` for callers that know this kind of model: most scripts have nothing to wait for.

        Returns:
            The reply, or where the callable must be awaited, what to await.

        Raises:
            ChatError: As for `chat`.
        """
        try:
            answer = self._call(request)
            if answer.__class__ is str and answer:
                return self._reply(answer)
        except ChatError:
            raise
        except (Exception, SystemExit) as error:  # a script may not end the process
            raise self._failed(error) from error
        return self._finish(answer) if inspect.isawaitable(answer) else self._unusual(answer)

    async def _finish(self, waiting: Awaitable[Answer]) -> Reply:
        try:
            answer = await waiting
        except ChatError:
            raise
        except (Exception, SystemExit) as error:
            raise self._failed(error) from error
        return self._unusual(answer)

    def _failed(self, error: BaseException) -> ChatError:
        return ChatError(f"{self._id} raised {type(error).__name__}: {error}")

    def _build(self, text: str) -> Reply:
        return Reply(text, usage=_ONE_CALL, model=self._id, backend=self._backend)

    def _unusual(self, answer: Any) -> Reply:
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, str) and answer:
            return self._build(str(answer))
        if answer is None or answer == "":
            return Reply(
                None,
                absence="empty",
                usage=_ONE_CALL,
                model=self._id,
                backend=self._backend,
                cause=f"{self._id} returned {answer!r}",
            )
        raise ChatError(f"{self._id} returned {type(answer).__name__}; a chat callable returns str, Reply or None")


def scripted(
    callable: Callable[[Request], Answer | Awaitable[Answer]],
    *,
    id: str | None = None,
    backend: Backend = "scripted",
) -> ChatModel:
    """Makes a chat model of a callable.

    Args:
        callable: Takes a `Request`; returns the text, a `Reply`, or None. It may be a coroutine function. A blocking
            callable blocks the event loop: make it a coroutine function that uses `asyncio.to_thread`.
        id: Name for cache keys and manifests; by default ``scripted:<module>.<qualified name>``. Give one that changes
            with the callable's settings if replies are to be cached.
        backend: Kind of model behind the callable: say ``server`` or ``local`` where it asks a language model.

    Returns:
        A model whose `chat` costs about a microsecond over the callable. None or "" becomes a reply with the absence
        ``empty``; an exception of the callable becomes a `ChatError` that names it.

    Raises:
        BadInput: `callable` cannot be called, or `backend` is none of the three kinds.
    """
    if not hasattr(callable, "__call__"):  # noqa: B004 -- the name `callable` is taken by the argument
        raise BadInput(f"a scripted model is made of a callable, got {type(callable).__name__}")
    if backend not in ("scripted", "local", "server"):
        raise BadInput(f"backend is scripted, local or server, got {backend!r}")
    return Scripted(callable, id if id is not None else f"scripted:{_name_of(callable)}", backend)


def _name_of(call: Any) -> str:
    named = call if hasattr(call, "__qualname__") else type(call)
    return f"{named.__module__}.{named.__qualname__}"
