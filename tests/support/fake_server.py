"""A chat-completions server on loopback whose brain is any callable, and which fails on demand.

    with FakeServer(brain=lambda request: "look", faults=["429", None]) as server:
        model = metagym.chat.load(server.spec())
        ...
    assert len(server.chats) == 2

Only the standard library and the words of `metagym.chat` are used, so that benchmarks may use it too.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import math
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from metagym.chat import ChatModel, Message, Request
from metagym.seeding import rng

Brain = Callable[[Request], str]


@dataclass(frozen=True)
class Fault:
    """One way to fail. `kind` is one of `KINDS`; `value` is its parameter (status, seconds, text), where it has one."""

    kind: str
    value: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


KINDS = (
    "status",  # an error answer with this status
    "hang",  # no answer until the server closes, or for so many seconds
    "slow",  # the ordinary answer after so many seconds
    "cut",  # headers and half of the body, then the connection ends
    "drop",  # the connection is reset before any answer
    "body",  # 200 with this text as the body
    "message",  # an ordinary answer whose message is this mapping
    "choice",  # an ordinary answer whose choice is updated by this mapping
    "no_usage",  # an ordinary answer without usage
)

FAULTS: Mapping[str, Fault] = {
    "429": Fault("status", 429, {"Retry-After": "0"}),
    "429-1s": Fault("status", 429, {"Retry-After": "1"}),
    "500": Fault("status", 500),
    "503": Fault("status", 503),
    "401": Fault("status", 401),
    "404": Fault("status", 404),
    "hang": Fault("hang"),
    "slow": Fault("slow", 0.2),
    "cut": Fault("cut"),
    "drop": Fault("drop"),
    "html": Fault("body", "<!DOCTYPE html><html><body>Bad gateway</body></html>"),
    "not-json": Fault("body", '{"choices": [{"message": {"content": "go'),
    "empty-choices": Fault("body", '{"object": "chat.completion", "choices": []}'),
    "null-content": Fault("message", {"role": "assistant", "content": None}),
    "reasoning-only": Fault("message", {"role": "assistant", "content": None, "reasoning_content": "go north maybe"}),
    "bad-tool-json": Fault(
        "message",
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "go", "arguments": '{"a":1'}}],
        },
    ),
    "length": Fault("choice", {"finish_reason": "length"}),
    "reasoning-length": Fault(
        "choice",
        {
            "finish_reason": "length",
            "message": {"role": "assistant", "content": None, "reasoning_content": "go north maybe"},
        },
    ),
    "content-filter": Fault("choice", {"finish_reason": "content_filter"}),
    "refusal": Fault("message", {"role": "assistant", "content": None, "refusal": "I cannot help with that."}),
    "no-usage": Fault("no_usage"),
}
"""Faults by name."""


@dataclass(frozen=True)
class Recorded:
    """One request as the server got it."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at: float


def heavy_tail(seed: int, median: float = 0.1, sigma: float = 1.0) -> Callable[[Mapping[str, Any]], float]:
    """Log-normal waiting times in seconds, drawn from the request's own text: equal whatever the order of arrival."""

    def latency(body: Mapping[str, Any]) -> float:
        return median * math.exp(sigma * rng(seed, "latency", json.dumps(body, sort_keys=True)).gauss(0.0, 1.0))

    return latency


def count_tokens(body: Mapping[str, Any]) -> int:
    """Tokens of a conversation: a fourth of its characters, and four for each message."""
    return sum(-(-len(message["content"]) // 4) + 4 for message in body["messages"])


class FakeServer:
    """The server; a context manager.

    Attributes:
        requests: All requests, in order of arrival.
        chats: The bodies of the chat requests, in order of arrival.
    """

    def __init__(
        self,
        brain: Brain | ChatModel = lambda request: "ok",
        *,
        faults: Iterable[str | Fault | None] = (),
        always: str | Fault | None = None,
        latency: Callable[[Mapping[str, Any]], float] | float = 0.0,
        window: int | None = None,
        overflow: str = "vllm",
        owned_by: str = "fake",
        version: str | None = None,
        honours: Iterable[str] = ("structured_outputs", "guided_choice", "grammar", "response_format"),
        key: str | None = None,
        port: int = 0,
    ) -> None:
        """Prepares the server.

        Args:
            brain: From a request to its answer; a `ChatModel` serves too.
            faults: What happens to the first, second, ... chat request; None is an ordinary answer.
            always: What happens to every request after those.
            latency: Seconds before an answer, or a function of the request's body.
            window: Size of the context window in tokens; None is no limit.
            overflow: Whose words an overflow is told in: ``vllm``, ``openai`` or ``llamacpp``.
            owned_by: How the server names itself in ``/v1/models``.
            version: What ``/version`` says; None is 404.
            honours: Constraint fields that it keeps to; others are ignored without a word.
            key: The key it wants; None wants none.
            port: Where it listens; 0 takes a free one.
        """
        self._brain = brain
        self._faults = iter(faults)
        self._always = always
        self._latency = latency
        self._window = window
        self._overflow = overflow
        self._owned_by = owned_by
        self._version = version
        self._honours = frozenset(honours)
        self._key = key
        self._port = port
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._numbers = itertools.count()
        self.requests: list[Recorded] = []

    def __enter__(self) -> FakeServer:
        server = self

        class Handler(_Handler):
            owner = server

        self._http = _Server(("127.0.0.1", self._port), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def chats(self) -> list[Mapping[str, Any]]:
        with self._lock:
            return [request.body for request in self.requests if request.path.endswith("/chat/completions")]

    def spec(self, model: str = "fake", **params: Any) -> str:
        """The spec of a model on this server."""
        pairs = {"base_url": self.base_url, **params}
        return f"openai:{model}?" + "&".join(f"{name}={value}" for name, value in pairs.items())

    # --- used by the handler

    def record(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Fault | None:
        with self._lock:
            self.requests.append(Recorded(path, headers, body, time.monotonic()))
            if not path.endswith("/chat/completions"):
                return None
            fault = next(self._faults, self._always)
        return FAULTS[fault] if isinstance(fault, str) else fault

    def wait(self, seconds: float | None) -> None:
        self._closing.wait(seconds)

    def pause(self, body: Mapping[str, Any]) -> None:
        seconds = self._latency(body) if callable(self._latency) else self._latency
        if seconds > 0:
            self.wait(seconds)

    def refusal(self, headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[int, dict[str, Any]] | None:
        if self._key is not None and headers.get("authorization") != f"Bearer {self._key}":
            given = headers.get("authorization", "").removeprefix("Bearer ")
            return 401, {"error": {"message": f"Incorrect API key provided: {given}.", "code": "invalid_api_key"}}
        limit = body.get("max_tokens", body.get("max_completion_tokens", 16))
        if limit < 1:
            return 400, {"error": {"message": f"max_tokens must be at least 1, got {limit}.", "code": 400}}
        prompt = count_tokens(body)
        if self._window is not None and prompt + limit > self._window:
            return _overflow(self._overflow, self._window, prompt, limit)
        return None

    def answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        request, wrap = self._read(body)
        if isinstance(self._brain, ChatModel):
            text = asyncio.run(self._brain.chat(request)).text or ""
        else:
            text = self._brain(request)
        if request.choices is not None and text not in request.choices:
            text = request.choices[0]
        if wrap:
            text = json.dumps({"choice": text})
        prompt, written = count_tokens(body), -(-len(text) // 4)
        return {
            "id": f"chatcmpl-{next(self._numbers)}",
            "object": "chat.completion",
            "model": body.get("model", "fake"),
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written},
        }

    def _read(self, body: Mapping[str, Any]) -> tuple[Request, bool]:
        choices, wrap = None, False
        if "structured_outputs" in self._honours and "structured_outputs" in body:
            choices = tuple(body["structured_outputs"]["choice"])
        elif "guided_choice" in self._honours and "guided_choice" in body:
            choices = tuple(body["guided_choice"])
        elif "grammar" in self._honours and "grammar" in body:
            rule = body["grammar"].removeprefix("root ::= ")
            choices = tuple(json.loads(part) for part in rule.split(" | "))
        elif "response_format" in self._honours and "response_format" in body:
            properties = body["response_format"]["json_schema"]["schema"].get("properties", {})
            if "choice" in properties:
                choices, wrap = tuple(properties["choice"]["enum"]), True
        request = Request(
            messages=tuple(Message(message["role"], message["content"]) for message in body["messages"]),
            temperature=body.get("temperature", 1.0),
            max_tokens=body.get("max_tokens", 512),
            stop=tuple(body.get("stop", ())),
            seed=body.get("seed"),
            choices=choices,
        )
        return request, wrap

    def describe(self, path: str) -> tuple[int, dict[str, Any]]:
        if path.endswith("/models"):
            return 200, {"object": "list", "data": [{"id": "fake", "object": "model", "owned_by": self._owned_by}]}
        if path == "/health":
            return 200, {}
        if path.endswith("/version") and self._version is not None:
            return 200, {"version": self._version}
        return 404, {"error": {"message": "not found"}}


def _overflow(style: str, window: int, prompt: int, limit: int) -> tuple[int, dict[str, Any]]:
    if style == "llamacpp":
        words = f"request ({prompt} tokens) exceeds the available context size ({window} tokens), try increasing it"
        return 400, {"error": {"code": 400, "message": words, "type": "exceed_context_size_error", "n_ctx": window}}
    if style == "openai":
        words = f"This model's maximum context length is {window} tokens. However, your messages resulted in {prompt}."
        return 400, {"error": {"message": words, "code": "context_length_exceeded", "type": "invalid_request_error"}}
    words = (
        f"This model's maximum context length is {window} tokens. However, you requested {prompt + limit} tokens "
        f"({prompt} in the messages, {limit} in the completion). Please reduce the length of the messages."
    )
    return 400, {"object": "error", "message": words, "type": "BadRequestError", "code": 400}


def _events(answer: Mapping[str, Any]) -> bytes:
    """An answer as server-sent events: the whole text in one delta, then why it ended, then the usage."""
    shared = {"id": answer["id"], "object": "chat.completion.chunk", "created": 0, "model": answer["model"]}
    [choice] = answer["choices"]
    parts: list[Mapping[str, Any]] = [
        {**shared, "choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]},
        {**shared, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {**shared, "choices": [], "usage": answer["usage"]},
    ]
    return "".join(f"data: {part}\n\n" for part in [*map(json.dumps, parts), "[DONE]"]).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that went away are part of the game."""


class _Handler(BaseHTTPRequestHandler):
    owner: FakeServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one packet

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self.owner.record(self.path, self._lowered(), {})
        self._send(*self.owner.describe(self.path))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        fault = self.owner.record(self.path, self._lowered(), body)
        if fault is not None and fault.kind in ("status", "hang", "drop", "body"):
            return self._fail(fault)
        self.owner.pause(body)
        refusal = self.owner.refusal(self._lowered(), body)
        if refusal is not None:
            return self._send(*refusal)
        answer = self.owner.answer(body)
        if fault is None and body.get("stream"):
            return self._send_bytes(200, _events(answer), "text/event-stream", {})
        if fault is None:
            return self._send(200, answer)
        if fault.kind == "slow":
            self.owner.wait(fault.value)
        elif fault.kind == "no_usage":
            del answer["usage"]
        elif fault.kind == "message":
            answer["choices"][0]["message"] = dict(fault.value)
        elif fault.kind == "choice":
            answer["choices"][0].update(fault.value)
        elif fault.kind == "cut":
            return self._cut(json.dumps(answer).encode())
        self._send(200, answer)

    def _lowered(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _fail(self, fault: Fault) -> None:
        if fault.kind == "hang":
            self.owner.wait(fault.value)
            self.close_connection = True
        elif fault.kind == "drop":
            # A linger time of 0 makes the close a reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
        elif fault.kind == "status":
            words = {"error": {"message": f"scripted fault {fault.value}", "type": "fault", "code": str(fault.value)}}
            self._send(fault.value, words, fault.headers)
        else:
            self._send_bytes(200, fault.value.encode(), "text/html", fault.headers)

    def _cut(self, raw: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2])
        self.wfile.flush()
        self.close_connection = True

    def _send(self, status: int, data: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        self._send_bytes(status, json.dumps(data).encode(), "application/json", headers or {})

    def _send_bytes(self, status: int, raw: bytes, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()


def main() -> None:
    """Serves one text from a process of its own, so that a benchmark does not share its interpreter with the server.

    Prints the base URL on a line and serves until its standard input closes.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--text", default="ok")
    parser.add_argument("--median", type=float, default=0.0, help="seconds; 0 answers at once")
    parser.add_argument("--sigma", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--owned-by", default="fake")
    parser.add_argument("--version")
    given = parser.parse_args()
    latency = heavy_tail(given.seed, given.median, given.sigma) if given.median > 0 else 0.0
    told = {"owned_by": given.owned_by, "version": given.version, "port": given.port}
    with FakeServer(lambda request: given.text, latency=latency, **told) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
