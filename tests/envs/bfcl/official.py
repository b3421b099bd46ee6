"""The package's own command against a server on loopback that plays a script: what it says of each entry.

Its command needs its own dependencies, which the project does not install. Set ``METAGYM_BFCL`` to the ``bfcl`` program
of an environment that has them; see docs/bfcl.md.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from metagym_envs.bfcl import package
from metagym_envs.bfcl.calls import Call
from metagym_envs.bfcl.data import Entry, entries
from metagym_envs.bfcl.world import World

PROGRAM = "METAGYM_BFCL"
MODEL = "openbmb/MiniCPM-SALA-FC"
"""The one registered model whose handler speaks plain OpenAI completions with tools."""

Script = dict[str, list[list[tuple[Call, ...]]]]
"""By entry what is called in each turn, reply by reply."""


def verdicts(category: str, script: Script, folder: Path) -> dict[str, bool]:
    """What the command says of the entries of a category when its model plays a script."""
    with _serving(category, script) as url:
        environment = {
            **os.environ, "BFCL_PROJECT_ROOT": str(folder), "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none",
        }  # fmt: skip
        for verb in (("generate", "--num-threads", "8"), ("evaluate",)):
            command = [os.environ[PROGRAM], *verb, "--model", MODEL, "--test-category", category]
            done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=900)
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (scores,) = folder.glob(f"score/**/*{category}_score.json")
    head, *failed = [json.loads(line) for line in scores.read_text("utf-8").splitlines()]
    assert head["total_count"] == len(script) and head["correct_count"] == len(script) - len(failed)
    return dict.fromkeys(script, True) | {one["id"]: False for one in failed}


class _Book:
    """Finds the entry and the place in its script from the messages of a request."""

    def __init__(self, category: str, script: Script) -> None:
        self.script, self.entries = script, entries(category)

    def reply(self, body: dict[str, Any]) -> tuple[Call, ...]:
        """The next calls; () ends the turn."""
        messages = body["messages"]
        users = [number for number, message in enumerate(messages) if message["role"] == "user"]
        said = [messages[number]["content"] for number in users]
        turn = len(users) - 1
        replies = sum(message["role"] == "assistant" for message in messages[users[-1] :])
        tools = frozenset(tool["function"]["name"] for tool in body["tools"])
        found = [
            one
            for one in self.entries.values()
            if all(wanted in ("", heard) for wanted, heard in zip(one.turns, said, strict=False))
            and len(one.turns) > turn
            and tools == _names(one, turn)
        ]
        results = [message["content"] for message in messages if message["role"] == "tool"]
        if len(found) > 1:  # entries that begin with the same words
            found = [one for one in found if self._returned(one, turn, replies) == results]
        planned = self.script[found[0].id][turn]
        return planned[replies] if replies < len(planned) else ()

    def _returned(self, one: Entry, turn: int, replies: int) -> list[str]:
        """What the tools return to the script up to a reply of a turn."""
        world, steps = World(one), self.script[one.id]
        before = [calls for turns in steps[:turn] for calls in turns] + steps[turn][:replies]
        return [world.call(call) for calls in before for call in calls]


def _names(one: Entry, turn: int = 0) -> frozenset[str]:
    late = [tool for number, tools in one.held.items() if number <= turn for tool in tools]
    return frozenset(tool["name"] for tool in (*one.tools, *late))


@contextmanager
def _serving(category: str, script: Script) -> Iterator[str]:
    book = _Book(category, script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            calls = book.reply(body)
            tools = [
                {"id": f"call_{number}", "type": "function", "function": {"name": call.name, "arguments": _named(call)}}
                for number, call in enumerate(calls)
            ]
            said: dict[str, Any] = {"content": None, "tool_calls": tools} if calls else {"content": "Done."}
            message = {"role": "assistant", **said}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            answer = {"id": "x", "object": "chat.completion", "created": 0, "model": MODEL, "usage": usage}
            data = json.dumps({**answer, "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _named(call: Call) -> str:
    """Arguments by name, in JSON: an OpenAI tool call has no positions."""
    if not call.args:
        return json.dumps(dict(call.kwargs))
    classes = ("GorillaFileSystem", "MathAPI", "MessageAPI", "TwitterAPI", "TicketAPI", "TradingBot", "TravelAPI")
    for name in (*classes, "VehicleControlAPI"):
        if (method := getattr(package.backend(name), call.name, None)) is not None:
            bound = inspect.signature(method).bind(None, *call.args, **call.kwargs).arguments
            return json.dumps(dict(list(bound.items())[1:]))
    raise AssertionError(f"no back end has a tool {call.name}")
