"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import os
import platform
import signal

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS = 1, 4, 38, 39

_SIGKILL = int(signal.SIGKILL)
"""A plain number: the enum's own code would be the first that a worker runs of it, and pages copied for nothing."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.restype = ctypes.c_int

MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())


class LayerMissing(Exception):
    """A layer cannot be had here, or did not hold when tried; the message says why."""


def syscall(number: int, *arguments: object) -> int:
    """A raw system call; integers are passed as C longs.

    Raises:
        OSError: It failed.
    """
    converted = [ctypes.c_long(part) if isinstance(part, int) else part for part in arguments]
    found = _libc.syscall(ctypes.c_long(number), *converted)
    if found < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return int(found)


def prctl(option: int, *arguments: int) -> int:
    """The system call prctl with up to four numbers.

    Raises:
        OSError: It failed.
    """
    numbers = [ctypes.c_ulong(part) for part in (*arguments, 0, 0, 0, 0)[:4]]
    found = _libc.prctl(ctypes.c_int(option), *numbers)
    if found < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return int(found)


def die_with(parent: int) -> None:
    """Lets the kernel end this process with its parent (more exactly, with the thread that forked it).

    Raises:
        LayerMissing: The parent is gone already.
    """
    prctl(PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        raise LayerMissing("the parent is gone")


def no_new_privileges() -> None:
    """No program that this process starts gains privileges; seccomp and Landlock ask for it."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def not_dumpable() -> None:
    """No core file, and no other process of the same user may attach."""
    prctl(PR_SET_DUMPABLE, 0)
