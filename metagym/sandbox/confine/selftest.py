"""What a confined worker tries at the start of a pool, to find a layer that is there and does not hold."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import NamedTuple


class Try(NamedTuple):
    """One thing that must not go through.

    Attributes:
        words: What is tried, for a message.
        held_by: The layers of which one is enough to stop it.
        run: Tries it; an `OSError` is a refusal.
    """

    words: str
    held_by: tuple[str, ...]
    run: Callable[[], None]


def _file() -> None:
    os.close(os.open("/", os.O_RDONLY))


def _socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


TRIES = {
    "file": Try("open a folder", ("seccomp", "landlock"), _file),
    "socket": Try("make a socket", ("seccomp",), _socket),
    "fork": Try("start a process", ("seccomp",), _fork),
}


def attempt(name: str) -> bool:
    """Tries one of `TRIES`; True where it went through. A filter that holds may end the process instead."""
    try:
        TRIES[name].run()
    except OSError:
        return False
    return True
