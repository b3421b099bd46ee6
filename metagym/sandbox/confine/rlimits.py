"""The kernel's limits on what a process uses up."""

from __future__ import annotations

import math
import resource

from metagym.sandbox.confine.libc import LayerMissing
from metagym.sandbox.limits import Limits

SOCKET = 3
"""The worker's only file descriptor beside the null devices 0 to 2."""


def wanted(limits: Limits, base_bytes: int) -> dict[int, tuple[int, int]]:
    """Soft and hard limit of every resource."""
    cpu = math.ceil(limits.cpu_s)
    memory = base_bytes + limits.memory_mb * 2**20
    return {
        resource.RLIMIT_AS: (memory, memory),
        resource.RLIMIT_CPU: (cpu, cpu + 1),  # SIGXCPU first, which tells the cause; SIGKILL a second later
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_NOFILE: (SOCKET + 1, SOCKET + 1),
        # Does nothing for root and counts the whole user's processes: seccomp is what stops fork.
        resource.RLIMIT_NPROC: (0, 0),
    }


def install(limits: Limits, base_bytes: int) -> None:
    """Sets all limits.

    Raises:
        LayerMissing: One is refused (a hard limit of the user that is lower still is kept).
    """
    for name, (soft, hard) in wanted(limits, base_bytes).items():
        before = resource.getrlimit(name)[1]
        if before != resource.RLIM_INFINITY:
            soft, hard = min(soft, before), min(hard, before)
        try:
            resource.setrlimit(name, (soft, hard))
        except (OSError, ValueError) as error:
            raise LayerMissing(f"a resource limit cannot be set: {error}") from None


def check(limits: Limits, base_bytes: int) -> None:
    """Reads the limits back.

    Raises:
        LayerMissing: One is above what is wanted.
    """
    for name, (soft, hard) in wanted(limits, base_bytes).items():
        found = resource.getrlimit(name)
        if not all(0 <= has <= most for has, most in zip(found, (soft, hard), strict=True)):
            raise LayerMissing(f"resource limit {name} is {found}, not {(soft, hard)}")
