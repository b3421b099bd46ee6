"""A seccomp filter: the system calls that a worker may make, by number; any other ends the process at once.

Two lists, since CPython opens files at odd moments (a codec's name, a module imported late): those calls fail with
EPERM instead, or an innocent ``"x".encode("utf-16")`` would be a dead worker. Executable memory is refused by
argument. Calls by another architecture's numbers, the x32 range included, end the process.

Numbers: the kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h; the filter's
language: include/uapi/linux/bpf_common.h, filter.h, seccomp.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from metagym.sandbox.confine import libc
from metagym.sandbox.confine.libc import LayerMissing

ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM

PROT_EXEC = 4
X32_BIT = 0x40000000

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name: (x86_64, aarch64); None where the architecture has no such call.
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "recvfrom": (45, 207),
    "close": (3, 57),
    "munmap": (11, 215),
    "brk": (12, 214),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "sched_yield": (24, 124),
    "futex": (202, 98),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "getrandom": (318, 278),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
WITHOUT_EXEC: dict[str, tuple[int | None, int | None]] = {"mmap": (9, 222), "mprotect": (10, 226)}
"""Allowed unless their third argument asks for executable memory."""

FAILING: dict[str, tuple[int | None, int | None]] = {
    "open": (2, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "creat": (85, None),
    "stat": (4, None),
    "lstat": (6, None),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "lseek": (8, 62),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "rt_sigaction": (13, 134),
    "sched_getaffinity": (204, 123),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getppid": (110, 173),
    "times": (100, 153),
    "getrusage": (98, 165),
}


def program(machine: str) -> bytes:
    """The filter's instructions for one architecture.

    Raises:
        LayerMissing: There is no table for it.
    """
    if machine not in ARCHITECTURES:
        raise LayerMissing(f"no table of system calls for {machine}; x86_64 and aarch64 have one")
    column = list(ARCHITECTURES).index(machine)

    def numbers(table: dict[str, tuple[int | None, int | None]]) -> list[int]:
        return sorted(number for row in table.values() if (number := row[column]) is not None)

    load, equal, greater, test, give = 0x20, 0x15, 0x35, 0x45, 0x06
    code: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),  # the architecture
        (equal, 1, 0, ARCHITECTURES[machine]),
        (give, 0, 0, KILL),
        (load, 0, 0, 0),  # the number
    ]
    if machine == "x86_64":
        code += [(greater, 0, 1, X32_BIT), (give, 0, 0, KILL)]
    for number in numbers(ALLOWED):
        code += [(equal, 0, 1, number), (give, 0, 0, ALLOW)]
    for number in numbers(WITHOUT_EXEC):
        code += [
            (equal, 0, 4, number),
            (load, 0, 0, 16 + 2 * 8),  # low half of the third argument, on these little-endian machines
            (test, 0, 1, PROT_EXEC),
            (give, 0, 0, KILL),
            (give, 0, 0, ALLOW),
        ]
    for number in numbers(FAILING):
        code += [(equal, 0, 1, number), (give, 0, 0, FAIL)]
    code.append((give, 0, 0, KILL))
    return b"".join(struct.pack("HBBI", *line) for line in code)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


_CODE = program(libc.MACHINE) if libc.MACHINE in ARCHITECTURES else b""
_ARGUMENT = _Program(len(_CODE) // 8, _CODE)
"""Made before any fork."""


def install() -> None:
    """Applies the filter to this process for good.

    Raises:
        LayerMissing: The kernel refuses filters, or the architecture has no table.
    """
    if not _CODE:
        program(libc.MACHINE)
    try:
        libc.no_new_privileges()
        # prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program): older than the system call of its own, and enough here.
        libc.prctl(22, 2, ctypes.addressof(_ARGUMENT))
    except OSError as error:
        raise LayerMissing(f"the kernel refused the filter: {error.strerror}") from None


def check() -> None:
    """Asks for facts of the root folder, which nothing else refuses.

    Raises:
        LayerMissing: The call went through.
    """
    try:
        os.stat("/")
    except OSError as error:
        if error.errno == errno.EPERM:
            return
        raise LayerMissing(f"the check could not be made: {error.strerror}") from None
    raise LayerMissing("a system call that the filter refuses went through")
