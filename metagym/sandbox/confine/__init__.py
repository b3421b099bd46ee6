"""Confinement of the calling process by the operating system: rlimits, Landlock, seccomp.

No root and no compiled dependency.

`confine` applies what it can and says of every layer whether it *held* when tried, not whether a call returned 0.
Of the three, seccomp is the layer that matters (a list of allowed system calls); Landlock is the second (no files,
no TCP, no signals to others); rlimits bound what is used up.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping

from metagym.sandbox.confine import landlock, rlimits, seccomp
from metagym.sandbox.confine.libc import LayerMissing
from metagym.sandbox.limits import Limits

LAYERS = ("rlimit", "seccomp", "landlock")

__all__ = ["LAYERS", "LayerMissing", "confine"]


def confine(limits: Limits, base_bytes: int, without: Collection[str] = ()) -> Mapping[str, str]:
    """Confines this process for good.

    Args:
        limits: Memory and CPU time.
        base_bytes: Address space that an empty worker has; `limits.memory_mb` comes on top.
        without: Layers to leave out (tests of the others, and of the check itself).

    Returns:
        By layer: "" where it held when tried, otherwise why it is missing.
    """
    if not sys.platform.startswith("linux"):
        return dict.fromkeys(LAYERS, f"not on {sys.platform}: the sandbox needs Linux")
    found = {}
    # In this order: Landlock's check opens a file, which RLIMIT_NOFILE and seccomp would refuse in its place.
    for name in ("landlock", "rlimit", "seccomp"):
        try:
            if name not in without:
                _APPLY[name](limits, base_bytes)
            _CHECK[name](limits, base_bytes)
        except LayerMissing as missing:
            found[name] = f"switched off ({missing})" if name in without else str(missing)
        else:
            found[name] = ""
    return {name: found[name] for name in LAYERS}


_APPLY = {
    "landlock": lambda limits, base: landlock.install(),
    "rlimit": rlimits.install,
    "seccomp": lambda limits, base: seccomp.install(),
}
_CHECK = {
    "landlock": lambda limits, base: landlock.check(),
    "rlimit": rlimits.check,
    "seccomp": lambda limits, base: seccomp.check(),
}
