"""Any server that speaks the OpenAI chat-completions protocol: vLLM, llama.cpp, SGLang, Ollama, hosted ones.

A direct client on httpx2 (the extra ``openai``): one POST per call and nothing else. The ``openai`` package would add
30 MB and a retry policy of its own, which has to be switched off, since retries have one owner here
(`metagym.chat.retry`).
"""

from __future__ import annotations

import asyncio
import dataclasses
import email.utils
import json
import os
import re
import time
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from metagym.chat.constraints import check_request, constraint_fields
from metagym.chat.perloop import PerLoop
from metagym.chat.probe import choice_mode, served
from metagym.chat.redact import redact
from metagym.chat.replies import read_completion
from metagym.chat.specs import read_base_url
from metagym.chat.tokens import estimate_prompt
from metagym.chat.types import Backend, Reply, Request
from metagym.errors import BadInput, ChatError, ContextOverflow, RateLimited, ServerUnavailable, SpecError
from metagym.extras import require

if TYPE_CHECKING:
    import httpx2

DEFAULT_BASE_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 10.0
"""Longest wait for a connection; the time for the whole request is set by the retry layer."""
SEED_MASK = 0x7FFFFFFF
"""Seeds are sent modulo 2**31, the widest range that every server takes."""

_RETRIED = frozenset({408, 409, 425})
_OVERFLOW = re.compile(  # the words of OpenAI, vLLM (old and new), llama.cpp, SGLang and llama-cpp-python
    r"context_length_exceeded|maximum context length|maximum model length|exceed_context_size"
    r"|exceeds? (?:the )?(?:available )?context (?:size|window|length)|model's context length"
    r"|longer than the (?:model's |maximum )|input tokens exceed",
    re.IGNORECASE,
)
_GRAMMAR = re.compile(r"grammar", re.IGNORECASE)
_NEUTRAL: Mapping[str, float] = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "n": 1}
"""What changes nothing about the model's own distribution."""

_OWN_FIELDS = frozenset({"model", "messages", "temperature", "max_tokens", "max_completion_tokens", "stop", "seed"})


class OpenAIChat:
    """A model on a server; one request per call, no retries (see `metagym.chat.retry`)."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_env: str | None = None,
        choices: str = "auto",
        context: int | None = None,
        connections: int | None = None,
        sampling: Mapping[str, float] | None = None,
    ) -> None:
        """Prepares the client; connects at the first call.

        Args:
            model: The server's name for it.
            base_url: Address up to and with ``/v1``; by default ``OPENAI_BASE_URL`` of the environment, else OpenAI's.
            key_env: Environment variable that holds the key; by default ``OPENAI_API_KEY``, which may be unset for
                servers that want none.
            choices: How the server is asked to keep to `Request.choices`; ``auto`` asks it once what it is.
            context: Size of the model's window in tokens, if known: longer conversations are refused before sending,
                and ``max_tokens`` is lowered to what is left.
            connections: Most connections at once; None is no limit.
            sampling: Sampling fields of every call besides the request's own (see `sampling_fields`). What is not sent
                is the server's choice: vLLM, for one, takes it from the model's ``generation_config.json``.

        Raises:
            MissingExtra: httpx2 is not installed.
            SpecError: The address or the key cannot be used, or `key_env` names a variable that is not set.
        """
        require("httpx2", "openai")
        try:
            self._base = read_base_url(base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)
        except ValueError as error:
            raise SpecError(f"{'base_url' if base_url else 'OPENAI_BASE_URL'} is {error}") from None
        parts = urlsplit(self._base)
        self._model = model
        self._host = parts.netloc
        self._hosted_by_openai = parts.hostname == "api.openai.com"
        self._id = f"openai:{model}?base_url={parts.netloc}{parts.path}" + (
            "" if choices == "auto" else f"&choices={choices}"
        )
        self._sampling = dict(sampling or {})
        self._id += "".join(f"&{name}={value:g}" for name, value in sorted(self._sampling.items()))
        self._key_env = key_env or "OPENAI_API_KEY"
        self._key = _read_key(self._key_env, needed=key_env is not None)
        self._mode: str | None = None if choices == "auto" else choices
        self._context = context
        self._connections = connections
        self._clients: PerLoop[_Client] = PerLoop(self._new_client)

    @property
    def id(self) -> str:
        """Model, host and path of the server, and how choices are asked for; never a key."""
        return self._id

    @property
    def backend(self) -> Backend:
        """A server."""
        return "server"

    async def chat(self, request: Request) -> Reply:
        """Makes one request.

        Raises:
            ContextOverflow: The conversation does not fit the window; found before sending where its size is known.
            RateLimited: 429.
            ServerUnavailable: No connection, a broken one, 408, 409, 425 or 5xx.
            ChatError: Any other refusal, in the server's words.
            BadInput: The request cannot be asked of any model.
        """
        start = time.perf_counter()
        check_request(request)
        limit = self._room(request)
        client = self._clients.get()
        constrained = request.choices is not None or request.json_schema is not None
        mode = await self._choice_mode(client) if constrained else "off"
        status, headers, body = await self._post(client, "/chat/completions", self._body(request, limit, mode))
        if status == 500 and mode != "off" and _GRAMMAR.search(body.decode("utf-8", "replace")):
            # vLLM's words for a choice that the tokenizer cannot spell: no retry helps. The answer is checked anyway.
            mode = "off"
            status, headers, body = await self._post(client, "/chat/completions", self._body(request, limit, mode))
        if status != 200:
            raise self._refusal(status, headers, body)
        reply = read_completion(body, request, model=self._model, backend="server", mode=mode)
        cause = redact(reply.cause, self._key)
        return dataclasses.replace(reply, cause=cause, seconds=time.perf_counter() - start)

    @property
    def address(self) -> str:
        """Host and path of the server."""
        parts = urlsplit(self._base)
        return f"{parts.netloc}{parts.path}"

    async def served(self) -> dict[str, Any]:
        """What the server says of itself and of the model, see `metagym.chat.probe.served`.

        Raises:
            ServerUnavailable: It does not answer, or not as such a server does.
        """
        found = await served(await self._clients.get().ready(), self._base, self._model)
        if found is None:
            raise ServerUnavailable(f"{self._host}: no answer from /models")
        return found

    async def post(self, path: str, body: bytes) -> bytes:
        """Makes one request of another kind at the same server, e.g. for token ids, and returns the body.

        Args:
            path: Below the base address, e.g. ``"/completions"``.
            body: JSON.

        Raises:
            ContextOverflow, RateLimited, ServerUnavailable, ChatError: As `chat`.
        """
        status, headers, answer = await self._post(self._clients.get(), path, body)
        if status != 200:
            raise self._refusal(status, headers, answer)
        return answer

    async def aclose(self) -> None:
        """Closes the connections of the running loop; a later call opens new ones."""
        client = self._clients.pop()
        if client is not None:
            await client.close()

    def _room(self, request: Request) -> int:
        """The most tokens that may be written, at least 1."""
        if self._context is None:
            return request.max_tokens
        prompt = estimate_prompt(request)
        if prompt >= self._context:
            raise ContextOverflow(
                f"the conversation has about {prompt} tokens and the window of {self._model} holds {self._context}; "
                "it was not sent"
            )
        return min(request.max_tokens, self._context - prompt)

    def _body(self, request: Request, limit: int, mode: str) -> bytes:
        own = _OWN_FIELDS.intersection(request.extra)
        if own:
            raise BadInput(f"Request.extra may not hold {', '.join(sorted(own))}: use the field of Request")
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "temperature": request.temperature,
            "max_completion_tokens" if self._hosted_by_openai else "max_tokens": limit,
        }
        if request.stop:
            body["stop"] = list(request.stop[:4])  # the protocol's limit; all of them are cut off on our side
        if request.seed is not None:
            body["seed"] = request.seed & SEED_MASK
        body.update(self._sampling)
        body.update(constraint_fields(request, mode))
        body.update(request.extra)
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
        # Half a surrogate pair, which models do emit, has no UTF-8 form; servers refuse its escape as well.
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode("utf-8")

    async def _post(self, client: _Client, path: str, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        import httpx2

        try:
            http = await client.ready()
            response = await http.post(f"{self._base}{path}", content=body)
        except httpx2.UnsupportedProtocol as error:
            raise ChatError(f"{self._host}: {redact(str(error), self._key)}") from None
        except httpx2.TransportError as error:
            words = redact(str(error), self._key) or "no answer"
            lost = ServerUnavailable(f"{self._host}: {type(error).__name__}: {words}")
            lost.connection = True
            raise lost from None
        except httpx2.DecodingError as error:
            raise ServerUnavailable(
                f"{self._host}: the body cannot be decoded: {redact(str(error), self._key)}"
            ) from None
        return response.status_code, response.headers, response.content

    def _refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> ChatError:
        words, code = _server_words(body)
        words = redact(words, self._key)
        if status >= 400 and _OVERFLOW.search(f"{code} {words}"):
            return ContextOverflow(f"{self._host}: {words} (context=N in the spec checks before sending)")
        error: ChatError
        if status == 429 and "insufficient_quota" not in code:
            error = RateLimited(f"{self._host} answered 429: {words}")
        elif status in _RETRIED or status >= 500:
            error = ServerUnavailable(f"{self._host} answered {status}: {words}")
        elif status in (401, 403):
            held = "is set" if self._key else "is not set"
            return ChatError(
                f"{self._host} answered {status}: {words} (the key is read from {self._key_env}, which {held})"
            )
        elif 300 <= status < 400:
            return ChatError(f"{self._host} answered {status}, a redirection: set base_url to the address it leads to")
        else:
            return ChatError(f"{self._host} answered {status}: {words}")
        error.retry_after = _retry_after(headers)
        return error

    async def _choice_mode(self, client: _Client) -> str:
        if self._mode is None:
            async with client.probing:
                if self._mode is None:
                    self._mode = await choice_mode(await client.ready(), self._base, self._model)
        return self._mode

    def _new_client(self) -> _Client:
        return _Client(self._base, self._key, self._connections)


class _Client:
    """The connections of one event loop, closed when the loop shuts down."""

    def __init__(self, base: str, key: str, connections: int | None) -> None:
        self.probing = asyncio.Lock()
        self._base = base
        self._key = key
        self._connections = connections
        self._http: httpx2.AsyncClient | None = None
        self._life: AsyncGenerator[httpx2.AsyncClient, None] | None = None

    async def ready(self) -> httpx2.AsyncClient:
        if self._http is None:
            # asyncio.run closes the asynchronous generators that were begun on its loop before it closes the loop: the
            # one place where connections can still be closed properly, whoever forgot to.
            life = self._live()
            self._http = await life.__anext__()
            self._life = life
        return self._http

    async def close(self) -> None:
        if self._life is not None:
            await self._life.aclose()

    async def _live(self) -> AsyncGenerator[httpx2.AsyncClient, None]:
        http = self._open()
        try:
            yield http
        finally:
            self._http = None
            await http.aclose()

    def _open(self) -> httpx2.AsyncClient:
        import httpx2

        parts = urlsplit(self._base)
        headers = {"Content-Type": "application/json", "User-Agent": "metagym"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx2.Limits(max_connections=self._connections, max_keepalive_connections=self._connections),
            verify=parts.scheme == "https",
            trust_env=not is_loopback(parts.hostname or ""),  # a proxy cannot reach this machine's own loopback
            follow_redirects=False,
        )


def sampling_fields(given: Mapping[str, float], *, full: bool = False) -> dict[str, float]:
    """The sampling fields of a call that a server would else choose by itself.

    Args:
        given: Any of ``top_p``, ``top_k``, ``min_p``, ``repetition_penalty``; further names are left out. A `top_k` of
            0 means no cut and is sent as -1, which vLLM, SGLang and llama.cpp all read so.
        full: Send the rest too, with the values that change nothing, and ``n = 1``. OpenAI's own servers refuse fields
            that they do not know; vLLM, SGLang and llama.cpp take all of them.
    """
    fields = {name: given[name] for name in _NEUTRAL if name in given}
    if full:
        fields = {**_NEUTRAL, **fields}
    if fields.get("top_k") == 0:
        fields["top_k"] = -1
    return fields


def is_loopback(host: str) -> bool:
    """Whether a host name means this machine."""
    return host in ("localhost", "::1") or host.startswith("127.")


def _read_key(name: str, *, needed: bool) -> str:
    key = os.environ.get(name, "").strip()
    if needed and not key:
        raise SpecError(f"key_env={name}: this environment variable is not set")
    if not re.fullmatch(r"[!-~]*", key):
        raise SpecError(f"the key in {name} holds characters that no key has")
    return key


def _server_words(body: bytes) -> tuple[str, str]:
    """The message of an error body, and its code and type."""
    text = body.decode("utf-8", "replace")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return _start(text) or "no words", ""
    error = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return _start(str(error)), ""
    words = error.get("message") or error.get("detail") or text
    return _start(words if isinstance(words, str) else json.dumps(words)), f"{error.get('code')} {error.get('type')}"


def _start(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= 500 else folded[:500] + "..."


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: ``Retry-After`` in seconds or as a date, or ``retry-after-ms``."""
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", value):
            return float(value) * scale
    try:
        until = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, until.timestamp() - time.time())
    except (ValueError, TypeError):
        return None
