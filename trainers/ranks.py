"""Several processes that train together: one word for all of them, and sums over all.

Everything here is a collective call: each process must make it equally often, on the thread that trains (in another one
NCCL would take the first GPU for everybody's). Where one process trains alone, nothing is sent.
"""

from __future__ import annotations

import sys
from typing import Any


def several() -> bool:
    """Whether more than one process trains."""
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    return bool(
        distributed is not None
        and distributed.is_available()
        and distributed.is_initialized()
        and distributed.get_world_size() > 1
    )


def everywhere(value: Any) -> Any:
    """What the main process has, in every process.

    Args:
        value: Anything that can be pickled; the others' is not looked at.
    """
    if not several():
        return value
    from accelerate.utils import broadcast_object_list

    held = [value]
    broadcast_object_list(held, from_process=0)
    return held[0]


def total(*numbers: int) -> tuple[int, ...]:
    """Each number summed over all processes."""
    if not several():
        return numbers
    from accelerate.utils import gather_object

    return tuple(map(sum, zip(*gather_object([numbers]), strict=True)))
