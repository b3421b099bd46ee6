"""One owner of all servers of a run: starts them, waits until they serve, notices when one dies, leaves none behind."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from metagym.checks import number
from metagym.errors import BadInput, ServerError
from metagym_trainers.servers import facts as told
from metagym_trainers.servers import keeper
from metagym_trainers.servers.launch import Launch

START_S = 900.0
"""Longest start by default: loading and compiling a large model takes minutes."""
GRACE_S = 10.0
"""Seconds between SIGTERM and SIGKILL."""
LAST_LINES = 15
"""Lines of a server's log that an error shows."""


class Server:
    """A running server; made by `Servers.start`.

    Attributes:
        launch: What it was started with.
        port: Its port.
        url: Its address, without ``/v1``.
        log: File of its output.
        facts: What it said of itself once it served, for the manifest.
    """

    def __init__(self, launch: Launch, port: int, log: Path, grace: float) -> None:
        self.launch, self.port, self.log = launch, port, log
        self.url = f"http://{launch.host}:{port}"
        self.facts: dict[str, Any] = {}
        self.pid: int | None = None
        self._owner, self._grace, self._lock = os.getpid(), grace, threading.Lock()
        self._said: dict[str, Any] = {}
        self._heard = b""
        self._closed = False
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-S", keeper.__file__, str(theirs.fileno()), str(os.getpid()), str(grace)]
        with theirs, log.open("ab") as out:
            self._keeper = subprocess.Popen(
                [*command, *launch.arguments(port)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **launch.environment},
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is the caller's, who ends its servers itself
            )
        self._control = ours
        ours.setblocking(False)

    @property
    def base_url(self) -> str:
        """The address with ``/v1``, as OpenAI clients want it."""
        return f"{self.url}/v1"

    def spec(self, model: str | None = None, **params: Any) -> str:
        """The spec of a chat model on this server, with every sampling parameter sent.

        Args:
            model: Name of the model; None takes the launch's.
            **params: Further parameters of the spec (docs/models.md).

        Raises:
            BadInput: Neither names a model.
        """
        name = model or self.launch.model
        if name is None:
            raise BadInput(f"{self.launch.name} serves no named model: give spec() its name")
        given = {"base_url": self.base_url, "sampling": "full", **params}
        return f"openai:{quote(name, safe='/:@')}?" + "&".join(f"{key}={value}" for key, value in given.items())

    def alive(self) -> bool:
        """Whether the server still runs."""
        self._listen()
        return "exit" not in self._said and "failed" not in self._said and self._keeper.poll() is None

    def check(self) -> None:
        """Notices a death.

        Raises:
            ServerError: The server has ended; the message holds its last lines.
        """
        if not self.alive():
            raise ServerError(
                f"{self.launch.name} at {self.url} has died ({self._ending()}): restart the run from its last "
                f"checkpoint; {self._last()}"
            )

    def describe(self) -> dict[str, Any]:
        """Command, address and what it said of itself, for the manifest; no variable of the caller's environment."""
        return {
            "name": self.launch.name,
            "command": self.launch.arguments(self.port),
            "environment": dict(self.launch.environment),
            "served": self.facts,
        }

    def stop(self) -> None:
        """Ends the server and everything that it started; waits until all is gone. A second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)  # the keeper reads the end of it, and ends what it keeps
        if self._owner == os.getpid():
            try:
                self._keeper.wait(self._grace + keeper.KILL_S + 5.0)
            except subprocess.TimeoutExpired:
                self._keeper.kill()
                self._keeper.wait()
        self._listen()
        self._control.close()

    def wait_until_serving(self, deadline: float) -> None:
        """Waits for ``/health``, then asks the server what it serves.

        Args:
            deadline: Seconds.

        Raises:
            ServerError: The command is missing, the server died, is too slow, or does not serve what is needed.
        """
        name, until, pause = self.launch.name, time.monotonic() + deadline, 0.02
        while True:
            if not self.alive():
                raise ServerError(self._death_at_start())
            if told.get(f"{self.url}{self.launch.health}", min(told.ANSWER_S, deadline))[0] == 200:
                break
            if time.monotonic() >= until:
                raise ServerError(
                    f"{name} did not answer {self.url}{self.launch.health} within {deadline:g} s: allow it more time, "
                    f"or see what holds it up; {self._last()}"
                )
            time.sleep(pause)
            pause = min(1.0, pause * 1.5)
        if not self.alive():  # somebody else answered at this port
            raise ServerError(self._death_at_start())
        self.facts = told.served(self.url)
        told.check(self.facts, name, model=self.launch.model, training=self.launch.training)

    def _death_at_start(self) -> str:
        name, command = self.launch.name, self.launch.command[0]
        if "failed" in self._said:
            return (
                f"{name} cannot be started: {command}: {self._said['failed']}; install it "
                "(vLLM: pip install 'metagym-agents[gpu]') or name a running server by its address"
            )
        line = shlex.join(self.launch.arguments(self.port))
        return f"{name} died while starting ({self._ending()}): try {line} by hand; {self._last()}"

    def _ending(self) -> str:
        code = self._said.get("exit")
        if code is None:
            return "its keeper was killed"
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def _last(self) -> str:
        """The last lines of the log, in words."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - 8192))
                lines = deque(file.read().decode("utf-8", "replace").splitlines(), LAST_LINES)
        except OSError as error:
            return f"its log {self.log} cannot be read: {error.strerror}"
        text = "\n    ".join(line[:300] for line in lines)
        return f"last lines of {self.log}:\n    {text}" if text else f"it wrote nothing to {self.log}"

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # nothing to read
            while data := self._control.recv(4096):
                self._heard += data
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            self._said.update(json.loads(line))
        self.pid = self._said.get("pid", self.pid)


class Servers:
    """All servers of a run; a context manager that leaves no process behind, however the run ends.

    Args:
        folder: Where logs go; None takes a temporary folder that is removed at the end.
        grace: Seconds that a server has to end by itself.

    Raises:
        BadInput: `grace` is negative.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, grace: float = GRACE_S) -> None:
        self._grace = number("grace", grace, 0)
        self._temporary = tempfile.TemporaryDirectory(prefix="metagym-servers-") if folder is None else None
        self._folder = Path(self._temporary.name if self._temporary else os.fspath(folder or "."))
        self._servers: dict[str, Server] = {}

    def __enter__(self) -> Servers:
        """The supervisor."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops every server."""
        self.stop()
        if self._temporary is not None:
            self._temporary.cleanup()

    def start(self, launch: Launch, *, deadline: float = START_S) -> Server:
        """Starts a server and waits until it serves what it must.

        Args:
            launch: The server.
            deadline: Seconds that it may take.

        Raises:
            ServerError: The port is taken, the command is missing, the server died, is too slow, or does not serve
                what is needed; nothing of it is left running.
            BadInput: The name is taken, or the deadline is no number above 0.
        """
        deadline = number("deadline", deadline, 0, above=True)
        if launch.name in self._servers:
            raise BadInput(f"there is a server {launch.name} already; give this one another name")
        port = take_port(launch)
        log = self._folder / f"{launch.name}.log"
        try:
            server = Server(launch, port, log, self._grace)
        except OSError as error:
            raise ServerError(f"{launch.name} cannot be started: {error}; its log would be {log}") from error
        self._servers[launch.name] = server
        try:
            server.wait_until_serving(deadline)
        except BaseException:
            del self._servers[launch.name]
            server.stop()
            raise
        return server

    def check(self) -> None:
        """Notices a server that has died.

        Raises:
            ServerError: One has; the message holds its last lines.
        """
        for server in self._servers.values():
            server.check()

    def describe(self) -> list[Mapping[str, Any]]:
        """All servers for the manifest, in the order in which they were started."""
        return [server.describe() for server in self._servers.values()]

    def stop(self) -> None:
        """Stops every server, the last one first."""
        while self._servers:
            _, server = self._servers.popitem()
            server.stop()


def take_port(launch: Launch) -> int:
    """The port of a launch, or a free one.

    Raises:
        ServerError: Somebody listens there already.
    """
    with socket.socket(socket.AF_INET6 if ":" in launch.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: closing connections do not count
        try:
            probe.bind((launch.host, launch.port))
        except OSError as error:
            raise ServerError(
                f"port {launch.port} for {launch.name} is taken ({error.strerror}): name another port, 0 for a free "
                "one, or stop what listens there"
            ) from None
        port: int = probe.getsockname()[1]
        return port
