"""A language model in this process, by llama.cpp (package xllamacpp, extra ``llama``): no server, no key, no GPU."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from metagym.chat.constraints import check_request, constraint_fields
from metagym.chat.models import PACKAGED, locate
from metagym.chat.replies import read_completion
from metagym.chat.types import Backend, Reply, Request
from metagym.chat.weights import fingerprint
from metagym.errors import ChatError, ContextOverflow
from metagym.extras import require

SEED_MASK = 0x7FFFFFFF
"""Seeds are taken modulo 2**31: llama.cpp has 32-bit seeds, and the largest one means "a random seed"."""


class LlamaChat:
    """A GGUF model in this process.

    Blocking work runs on threads of its own, one per slot, so that the event loop stays free. Equal requests get equal
    greedy answers with one slot; with more, llama.cpp batches requests together and rounding may differ.
    """

    def __init__(
        self,
        name: str,
        *,
        threads: int | None = None,
        slots: int = 1,
        context: int = 4096,
        choices: str = "grammar",
    ) -> None:
        """Finds and verifies the weights; loads them at the first call.

        Args:
            name: A packaged model such as ``smollm2``, or the path of a ``.gguf`` file.
            threads: Threads that compute; by default all cores but one. More than the free cores is far slower, since
                they wait for each other by spinning.
            slots: Requests at once.
            context: Tokens of prompt and answer together, per request.
            choices: ``grammar`` keeps the answer to `Request.choices` while it is written; ``off`` only checks it.

        Raises:
            MissingExtra: xllamacpp or the packaged weights are not installed.
            SpecError: No such model or file.
            StoreCorrupt: The packaged weights are not those that were published.
        """
        self._path = locate(name)
        self._library = require("xllamacpp", "llama")
        # Packaged weights were verified by name; a file of one's own is known by its content.
        label = name if name in PACKAGED else f"{self._path.name}@{fingerprint([self._path])}"
        self._id = f"llama:{label}?context={context}" + ("" if choices == "grammar" else f"&choices={choices}")
        self._mode = choices
        self._slots = slots
        self._context = context
        self._threads = threads if threads is not None else max(1, (os.cpu_count() or 2) - 1)
        self._server: Any = None
        self._starting = threading.Lock()
        self._workers = ThreadPoolExecutor(max_workers=slots, thread_name_prefix="metagym-llama")

    @property
    def id(self) -> str:
        """Model and window."""
        return self._id

    @property
    def backend(self) -> Backend:
        """A local model."""
        return "local"

    async def chat(self, request: Request) -> Reply:
        """Answers one request.

        Raises:
            ContextOverflow: The conversation does not fit the window.
            ChatError: llama.cpp refused it.
            BadInput: The request cannot be asked of any model.
        """
        check_request(request)
        start = time.perf_counter()
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._workers, self._ask, self._body(request))
        if "error" in answer:
            words = str(answer["error"].get("message", answer["error"]))
            if answer["error"].get("type") == "exceed_context_size_error":
                raise ContextOverflow(f"{self._id}: {words}")
            raise ChatError(f"{self._id}: {words}")
        reply = read_completion(answer, request, model=self._id, backend="local", mode=self._mode)
        # How much of the prompt was still in memory depends on what was asked before; it saves time only, and records
        # of equal runs shall be equal.
        usage = dataclasses.replace(reply.usage, cached_tokens=0)
        return dataclasses.replace(reply, model=self._id, usage=usage, seconds=time.perf_counter() - start)

    async def aclose(self) -> None:
        """Frees the weights; a later call loads them again."""
        with self._starting:
            self._server = None

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": [{"role": message.role, "content": _plain(message.content)} for message in request.messages],
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "seed": (request.seed or 0) & SEED_MASK,
            **constraint_fields(request, self._mode),
            **request.extra,
        }
        if request.stop:
            body["stop"] = list(request.stop)
        return body

    def _ask(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._started().handle_chat_completions(body)
        except Exception as error:  # a native library raises what it likes
            raise ChatError(f"{self._id}: {type(error).__name__}: {error}") from error
        if not isinstance(answer, dict):
            raise ChatError(f"{self._id}: xllamacpp returned {type(answer).__name__}, not a chat completion")
        return answer

    def _started(self) -> Any:
        with self._starting:
            if self._server is None:
                params = self._library.CommonParams()
                params.model.path = str(self._path)
                params.n_ctx = self._context * self._slots  # llama.cpp divides it among the slots
                params.n_parallel = self._slots
                params.cpuparams.n_threads = self._threads
                params.cpuparams_batch.n_threads = self._threads
                params.warmup = False
                params.verbosity = -1
                self._server = self._library.Server(params)
            return self._server


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
