"""Landlock: no file, no TCP, no signal or abstract socket to another process (as far as the kernel knows these rules).

Numbers and structure: the kernel's include/uapi/linux/landlock.h; the three system calls have the same numbers on every
architecture. A ruleset without a rule allows nothing of what it handles.
"""

from __future__ import annotations

import ctypes
import errno
import os

from metagym.sandbox.confine import libc
from metagym.sandbox.confine.libc import LayerMissing

CREATE_RULESET, RESTRICT_SELF = 444, 446
CREATE_RULESET_VERSION = 1

_FS_BITS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Number of file system rights by ABI; later ones add none that is known here."""


class _Ruleset(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


def abi() -> int:
    """The kernel's Landlock version.

    Raises:
        LayerMissing: The kernel has none, or it is switched off.
    """
    try:
        return libc.syscall(CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            raise LayerMissing("switched off at boot; add landlock to the kernel's lsm= parameter") from None
        raise LayerMissing(f"not in this kernel ({error.strerror}); Linux 5.13 or later has it") from None


def install() -> None:
    """Refuses this process everything that the kernel's version can refuse.

    Raises:
        LayerMissing: The kernel does not do it.
    """
    version = abi()
    rules = _Ruleset(
        fs=(1 << _FS_BITS.get(version, 16)) - 1,
        net=0b11 if version >= 4 else 0,  # bind and connect of TCP
        scoped=0b11 if version >= 6 else 0,  # abstract unix sockets and signals
    )
    size = 8 if version < 4 else 16 if version < 6 else 24
    try:
        libc.no_new_privileges()
        fd = libc.syscall(CREATE_RULESET, ctypes.byref(rules), size, 0)
        try:
            libc.syscall(RESTRICT_SELF, fd, 0)
        finally:
            os.close(fd)
    except OSError as error:
        raise LayerMissing(f"the kernel refused the rules: {error.strerror}") from None


def check() -> None:
    """Tries to open the root folder.

    Raises:
        LayerMissing: It opened, or failed for another reason than Landlock's.
    """
    try:
        fd = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        if error.errno == errno.EACCES:
            return
        raise LayerMissing(f"the check could not be made: {error.strerror}") from None
    os.close(fd)
    raise LayerMissing("a folder could be opened")
