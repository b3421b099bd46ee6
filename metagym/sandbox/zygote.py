"""The zygote: a fresh interpreter that holds everything a worker needs, and forks one worker for each program.

It is started once per pool and is never a fork of the caller, which may have threads and holds secrets. It has one
thread, a clean environment and no privileges: started by root, it becomes nobody before it forks. It ends with the
caller (end of the control socket, or the caller's pidfd), and its workers end with it.

Control messages are JSON in datagrams: ``{"n", "do": "fork", "limits", "looks"}`` with the worker's socket attached,
answered by ``{"n", "pid"}`` with its pidfd attached; ``{"n", "do": "status", "pid"}``, answered by ``{"n", "status"}``.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from metagym.sandbox import wire, worker
from metagym.sandbox.limits import Limits
from metagym.sandbox.loaders import BareLoader, LanguageLoader
from metagym.sandbox.play import PlainPlayer
from metagym.sandbox.sample import ACTIONS, ROUNDS, SAMPLE

NOBODY = 65_534
DATAGRAM = 16_384
"""Longest control message."""

KEPT = 4_096
"""Exit statuses that are remembered until the parent asks."""


class Zygote:
    """The zygote's loop.

    Args:
        control: Socket to the parent.
        parent: The parent's process id.
        settings: `required`, `without`, `keep_root` as the pool wrote them, and what its workers do: `language`,
            `guards`, `numpy` for programs with reset and step, or `scripts` (see `metagym.sandbox.scripts.ready`).
    """

    def __init__(self, control: socket.socket, parent: int, settings: Mapping[str, Any]) -> None:
        self._control, self._settings = control, settings
        self._parent = _high(os.pidfd_open(parent))
        _warm_up_interpreter()
        self._make_player = _scripts(settings["scripts"]) if "scripts" in settings else _programs(settings)
        self._children: dict[int, int] = {}  # by pidfd: process id
        self._statuses: OrderedDict[int, int] = OrderedDict()
        self._poll = select.poll()
        for fd in (control.fileno(), self._parent):
            self._poll.register(fd, select.POLLIN)

    def run(self) -> None:
        """Serves until the parent is gone or closes its end, then ends every worker."""
        if not self._settings["keep_root"]:
            _become_nobody()
        gc.collect()
        self._plugs = _plugs()
        gc.freeze()  # a collection in a worker must not touch, and so copy, pages that all of them share
        self._base_bytes = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        self._answer({"n": 0, "ready": True})
        try:
            while self._turn():
                pass
        finally:
            for pidfd in list(self._children):
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                self._reap(pidfd)

    def _turn(self) -> bool:
        """One wait; False when it is time to go."""
        for fd, _ in self._poll.poll():
            if fd == self._parent:
                return False
            if fd == self._control.fileno():
                if not self._request():
                    return False
            elif fd in self._children:
                self._reap(fd)
        return True

    def _request(self) -> bool:
        try:
            data, fds, _, _ = socket.recv_fds(self._control, DATAGRAM, 1)
        except ConnectionError:
            return False
        if not data:
            return False
        message = json.loads(data)
        if message["do"] == "fork":
            self._fork(message["n"], fds[0], Limits.checked(message["limits"]), message["looks"])
        else:
            self._answer({"n": message["n"], "status": self._status(message["pid"])})
        return True

    def _fork(self, number: int, fd: int, limits: Limits, looks: bool) -> None:
        me = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(fd)
            self._answer({"n": number, "error": f"a process cannot be forked: {error.strerror}"})
            return
        if pid == 0:
            self._control.detach()  # its number may be another descriptor's soon, which its object must not close
            settings = self._settings
            layers = settings["required"], settings["without"]
            worker.main(fd, me, self._make_player, limits, self._base_bytes, *layers, looks)
        os.close(fd)
        pidfd = _high(os.pidfd_open(pid))  # no race: a child that died meanwhile waits to be reaped by us
        self._children[pidfd] = pid
        self._poll.register(pidfd, select.POLLIN)
        self._answer({"n": number, "pid": pid}, [pidfd])

    def _status(self, pid: int) -> int | None:
        """How a worker ended, as `os.waitstatus_to_exitcode` gives it; waits for one that is about to."""
        for pidfd, child in list(self._children.items()):
            if child == pid:
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                self._reap(pidfd)
        return self._statuses.pop(pid, None)

    def _reap(self, pidfd: int) -> None:
        pid = self._children.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
        self._statuses[pid] = os.waitstatus_to_exitcode(status)
        while len(self._statuses) > KEPT:
            self._statuses.popitem(last=False)

    def _answer(self, message: Mapping[str, Any], fds: Sequence[int] = ()) -> None:
        with contextlib.suppress(ConnectionError):  # the next wait tells that the parent is gone
            socket.send_fds(self._control, [json.dumps(message).encode()], fds)


def _high(fd: int) -> int:
    """Moves a descriptor above the numbers that a worker uses."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(fd)
    return moved


def _warm_up_interpreter() -> None:
    """Loads what the interpreter would look for at a first use: a confined worker could not read the files."""
    importlib.import_module("unicodedata")  # identifiers that are not ASCII
    random.seed(0)  # what a program gets that finds a way to the real generator is the same in every worker
    for (
        name
    ) in "ascii latin-1 cp1252 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 unicode-escape raw-unicode-escape".split():
        codecs.lookup(name)


def _programs(settings: Mapping[str, Any]) -> worker.MakePlayer:
    """Workers that play programs with reset and step, warmed up with one."""
    language = settings["language"]
    loader = LanguageLoader(settings["guards"], settings["numpy"]) if language else BareLoader()
    loader.warm_up()
    limits = Limits.checked({item.name: item.default for item in fields(Limits)})
    for _ in range(ROUNDS):
        told = [""]
        for _ in range(2):  # compiled, then with the code that came of it
            player = PlainPlayer(loader, limits, told.append)
            load = ["load", SAMPLE, False, 0, told[-1]]
            wire.encode([told[-1], player.perform(load), player.perform(["play", 0, 1, list(ACTIONS)])])
    return lambda limits, tell: PlainPlayer(loader, limits, tell)


def _scripts(settings: Mapping[str, Any]) -> worker.MakePlayer:
    """Workers that run scripts."""
    from metagym.sandbox.scripts import ready  # with the modules that scripts import: the other zygotes lack them

    return ready.make_player(settings)


def _plugs() -> list[bytes]:
    """Small objects that fill the allocator's half-empty pages.

    A worker's first objects would go there, a few to a page, and each page would be copied for them; so they go to
    fresh pages, densely. Saves a worker 0.6 MB for half a megabyte in the zygote.
    """
    header = sys.getsizeof(b"")
    return [bytes(size - header) for size in range(48, 513, 16) for _ in range(16_384 // size)]


def _become_nobody() -> None:
    """Gives up root; where a user namespace lacks that id, the other layers hold without it."""
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)


def main(control_fd: int, parent: int, settings: Mapping[str, Any]) -> None:
    """Runs a zygote; called by the short program that the pool starts (`metagym.sandbox.processes`)."""
    control = socket.socket(fileno=_high(control_fd))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # in the workers too: a fork inherits it
    sys.setswitchinterval(1.0)
    try:
        with contextlib.suppress(OSError):  # where memory runs out, a worker goes before the trainer
            Path("/proc/self/oom_score_adj").write_text("500", "ascii")
        zygote = Zygote(control, parent, settings)
    except Exception as error:  # told to the parent, which raises it
        text = f"{type(error).__name__}: {error}"[:2_000]
        socket.send_fds(control, [json.dumps({"n": 0, "error": text}).encode()], [])
        return
    zygote.run()
