"""The parent's side of processes: one zygote, and a handle for each worker it forked."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from metagym.errors import SandboxUnavailable
from metagym.sandbox.limits import Limits

START_S = 60.0
"""Seconds that a zygote may take to start (about 0.3 on a quiet machine) or to fork."""

STATUS_S = 5.0
"""Seconds that it may take to tell how a worker ended: somebody waits for the answer of a step."""

# The packages are set up by hand, so that the zygote loads the modules it needs and not the whole of MetaGym.
# Hooks that libraries register for forks (random, threading) are for programs with threads: in this one, which has one
# thread and fixed randomness, they would cost each worker a millisecond and 0.8 MB of copied pages.
_BOOT = """
import os
os.register_at_fork = lambda **hooks: None
import json, sys, types
boot = json.loads(sys.argv[1])
sys.path[:] = sys.path + [path for path in boot["path"] if path not in sys.path]
for name, folders in boot["packages"].items():
    sys.modules[name] = module = types.ModuleType(name)
    module.__path__ = folders
sys.modules["metagym"].sandbox = sys.modules["metagym.sandbox"]
from metagym.sandbox import zygote
zygote.main(boot["control"], boot["parent"], boot["settings"])
"""

_PACKAGES = ("metagym", "metagym.sandbox", "metagym.sandbox.scripts")

_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "PYTHONHOME")
"""What an interpreter may need to start; nothing else of the caller's environment reaches the zygote."""


class WorkerProcess:
    """One worker: its socket and the means to end it.

    Attributes:
        socket: Stream to the worker.
        pid: Its process id, for messages; never used to signal.
    """

    def __init__(self, zygote: ZygoteProcess, sock: socket.socket, pid: int, pidfd: int) -> None:
        self.socket, self.pid = sock, pid
        self._zygote, self._pidfd = zygote, pidfd
        self._lock, self._owner = threading.Lock(), os.getpid()

    def signal(self) -> None:
        """Ends the worker at once; the descriptors stay open. A fork of the caller has copies of those, and no say."""
        with self._lock:
            if self._pidfd >= 0 and self._owner == os.getpid():
                # By pidfd: it names this process for ever, whoever gets its number next.
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def kill(self) -> None:
        """Ends the worker at once and frees its descriptors; a second call does nothing."""
        self.signal()
        with self._lock:
            if self._pidfd >= 0:
                os.close(self._pidfd)
                self._pidfd = -1
                self.socket.close()

    def status(self) -> int | None:
        """Ends the worker and tells how it ended: exit code, or minus the signal; None where nobody knows."""
        self.kill()
        try:
            return self._zygote.status(self.pid)
        except SandboxUnavailable:
            return None


class ZygoteProcess:
    """Starts a zygote and asks it for workers; any thread may.

    Args:
        settings: What `metagym.sandbox.zygote.Zygote` takes.
        hash_seed: The zygote's ``PYTHONHASHSEED``.

    Raises:
        SandboxUnavailable: It does not start; layer ``policy`` where the language layer cannot be loaded.
    """

    def __init__(self, settings: Mapping[str, Any], hash_seed: int) -> None:
        self._lock, self._owner = threading.Lock(), os.getpid()
        self._number = 0
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        boot = {
            "path": [path for path in sys.path if os.path.isabs(path)],
            "packages": {name: list(sys.modules[name].__path__) for name in _PACKAGES if name in sys.modules},
            "control": theirs.fileno(),
            "parent": os.getpid(),
            "settings": dict(settings),
        }
        with ours, theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-s", "-P", "-c", _BOOT, json.dumps(boot)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=_clean_environment(hash_seed),
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C is the caller's
                )
            except OSError as error:
                raise SandboxUnavailable("fork", f"the zygote cannot be started: {error}") from error
            self._control = ours.dup()
        try:
            self._receive(0, "policy", START_S)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Process id of the zygote."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def fork(self, limits: Limits, looks: bool = False) -> WorkerProcess:
        """A new worker, which is about to confine itself.

        Args:
            limits: Its limits.
            looks: See `metagym.sandbox.worker.main`.

        Raises:
            SandboxUnavailable: The zygote is gone or cannot fork.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with theirs:
                answer, fds = self._ask({"do": "fork", "limits": limits.to_json(), "looks": looks}, START_S, theirs)
            return WorkerProcess(self, ours, answer["pid"], fds[0])
        except BaseException:
            ours.close()
            raise

    def status(self, pid: int) -> int | None:
        """How a worker ended; it is ended if it has not.

        Raises:
            SandboxUnavailable: The zygote is gone or stopped.
        """
        return self._ask({"do": "status", "pid": pid}, STATUS_S)[0]["status"]

    def close(self) -> None:
        """Ends the zygote and with it every worker; waits until they are gone."""
        self._control.close()
        if self._owner != os.getpid():
            return
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()  # the workers' parent-death signal ends them
            self._process.wait()

    def _ask(
        self, message: dict[str, Any], seconds: float, *sockets: socket.socket
    ) -> tuple[dict[str, Any], list[int]]:
        with self._lock:
            self._number += 1
            message["n"] = self._number
            try:
                self._control.settimeout(seconds)
                socket.send_fds(self._control, [json.dumps(message).encode()], [sock.fileno() for sock in sockets])
            except OSError as error:
                raise SandboxUnavailable("fork", f"the zygote is gone: {error.strerror}") from None
            return self._receive(self._number, "fork", seconds)

    def _receive(self, number: int, layer: str, seconds: float) -> tuple[dict[str, Any], list[int]]:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                self._control.settimeout(left)
                data, fds, _, _ = socket.recv_fds(self._control, 16_384, 1)
            except OSError as error:
                raise SandboxUnavailable("fork", f"the zygote does not answer: {error}") from None
            if not data:
                raise SandboxUnavailable("fork", "the zygote is gone (it ended while it was asked)")
            answer = json.loads(data)
            if answer["n"] == number and "error" not in answer:
                return answer, fds
            for fd in fds:  # the answer to a request that was interrupted
                os.close(fd)
            if answer["n"] == number:
                raise SandboxUnavailable(layer, answer["error"])
        raise SandboxUnavailable("fork", f"the zygote did not answer within {seconds:g} s")


def _clean_environment(hash_seed: int) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": str(hash_seed), "PYTHONNOUSERSITE": "1", **kept, **one_thread}
