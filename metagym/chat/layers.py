"""What the layers around a chat model share: they pass its id and kind on, and close it."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from metagym.chat.types import Backend, ChatModel, Reply, Request


class Layer:
    """A chat model around another one.

    Attributes:
        inner: The wrapped model.
    """

    def __init__(self, inner: ChatModel) -> None:
        """Wraps `inner`."""
        self.inner = inner

    @property
    def id(self) -> str:
        """Name of the wrapped model."""
        return self.inner.id

    @property
    def backend(self) -> Backend:
        """Kind of the wrapped model."""
        return self.inner.backend

    async def chat(self, request: Request) -> Reply:
        """Answers one request."""
        return await self.inner.chat(request)


class Overridden(Layer):
    """Fixes settings of every request, whatever the seat asks for: what the user wrote into the spec wins.

    It is the outermost layer, so that the cache sees the request as it is really made.
    """

    def __init__(self, inner: ChatModel, *, temperature: float | None = None, max_tokens: int | None = None) -> None:
        """Wraps `inner`; None leaves a setting to the seat, and 0.0 is a temperature like any other."""
        super().__init__(inner)
        given = {"temperature": temperature, "max_tokens": max_tokens}
        self._settings = {name: value for name, value in given.items() if value is not None}

    @property
    def id(self) -> str:
        """Name of the wrapped model, and the fixed settings."""
        settings = "&".join(f"{name}={value!r}" for name, value in self._settings.items())
        return f"{self.inner.id}{'&' if '?' in self.inner.id else '?'}{settings}"

    async def chat(self, request: Request) -> Reply:
        """Answers one request under the fixed settings."""
        return await self.inner.chat(dataclasses.replace(request, **self._settings))  # type: ignore[arg-type]


L = TypeVar("L")


def find_layer(model: ChatModel, kind: type[L]) -> L | None:
    """The outermost layer of a kind, e.g. the accounts of a loaded model; None where there is none."""
    at: object = model
    while at is not None:
        if isinstance(at, kind):
            return at
        at = getattr(at, "inner", None)
    return None


async def aclose(model: ChatModel) -> None:
    """Closes what a model holds open (connections, files); a scripted one holds nothing."""
    at: object = model
    while at is not None:
        close = getattr(at, "aclose", None)
        if close is not None:
            await close()
        at = getattr(at, "inner", None)
