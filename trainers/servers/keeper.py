"""The process that owns a server: it ends the server and all that the server started, however its own parent ends.

Run by path in a bare interpreter (standard library only), with the arguments: the number of a socket to the parent, the
parent's process id, the seconds of grace after SIGTERM, and the command. What it tells the parent is one JSON object a
line: ``{"pid": ...}``, ``{"failed": words}`` or ``{"exit": code}``.

A parent-death signal alone would not do: it is sent when the *thread* that forked ends, it does not reach grandchildren
(a GPU server runs its engine in one), and it leaves no time to shut down. So the keeper adopts orphans of the server
(prctl PR_SET_CHILD_SUBREAPER), watches for the end of the parent's socket and for a new parent id, and then ends
everything below itself. Should the keeper be killed, the server itself dies by its parent-death signal.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
PAUSE_S = 0.05
KILL_S = 10.0
"""Longest wait for killed processes; the kernel may hold one in an uninterruptible call."""
LINUX = sys.platform == "linux"


def prctl(option: int, value: int) -> None:
    """Asks the kernel where it knows the call; elsewhere the process group must do."""
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _die_with_parent() -> None:
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def below(root: int) -> list[int]:
    """Process ids of all descendants; [] where there is no /proc."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found, open_ = [], [root]
    while open_:
        kids = children.get(open_.pop(), [])
        found += kids
        open_ += kids
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc") if LINUX else ():
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                # The second field, the command in brackets, may hold blanks and brackets itself.
                yield int(name), int(file.read().rpartition(b")")[2].split()[1])


class Keeper:
    """One server's keeper.

    Args:
        control: Socket to the parent; its end is the parent's.
        parent: The parent's process id.
        grace: Seconds between SIGTERM and SIGKILL.
    """

    def __init__(self, control: socket.socket, parent: int, grace: float) -> None:
        self.control, self.parent, self.grace = control, parent, grace
        self.stopping = False
        self.code: int | None = None

    def run(self, command: list[str]) -> int:
        """Runs the command until it ends or the parent does; returns this process's exit code."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: setattr(self, "stopping", True))
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_die_with_parent
            )
        except (OSError, ValueError) as error:
            self.tell({"failed": f"{type(error).__name__}: {error}"})
            return 127
        self.tell({"pid": process.pid})
        while self.code is None and not self.stopping:
            ready = select.select([self.control], [], [], PAUSE_S)[0]
            self.stopping |= bool(ready and not self._heard()) or os.getppid() != self.parent
            self.reap(process)
        if self.code is not None:
            self.tell({"exit": self.code})  # at once: what it left behind may take its time
        self.end(process)
        process.returncode = -signal.SIGKILL if self.code is None else self.code
        self.tell({"exit": process.returncode})
        return 0

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Ends the server and everything that it started: politely, then not."""
        self._signal(process, signal.SIGTERM)
        until = time.monotonic() + self.grace
        while self.reap(process) and time.monotonic() < until:
            time.sleep(PAUSE_S)
        until = time.monotonic() + KILL_S
        while self.reap(process) and time.monotonic() < until:  # killed ones leave their children to this process
            self._signal(process, signal.SIGKILL)
            time.sleep(PAUSE_S)

    def reap(self, process: subprocess.Popen[bytes]) -> bool:
        """Collects ended children, adopted ones too; whether any is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == process.pid:
                self.code = os.waitstatus_to_exitcode(status)

    def tell(self, message: dict[str, object]) -> None:
        """One line to the parent, if it is still there."""
        with contextlib.suppress(OSError):
            self.control.sendall(json.dumps(message).encode() + b"\n")

    def _heard(self) -> bytes:
        try:
            return self.control.recv(64)
        except OSError:
            return b""

    def _signal(self, process: subprocess.Popen[bytes], number: int) -> None:
        for pid in below(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, number)
        if self.code is None:  # its group may live on where there is no /proc; its number is still its own
            with contextlib.suppress(OSError):
                os.killpg(process.pid, number)


def main(arguments: list[str]) -> int:
    """Reads the arguments and keeps the server."""
    number, parent, grace, *command = arguments
    with socket.socket(fileno=int(number)) as control:
        return Keeper(control, int(parent), float(grace)).run(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
