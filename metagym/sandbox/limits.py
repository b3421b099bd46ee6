"""What a program may use up, per call, per episode and per worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """Limits of one program; the parent or the kernel holds each of them, never the program itself.

    Attributes:
        call_s: Wall-clock seconds of one call (reset, step, question), above 0.
        load_s: Wall-clock seconds of loading: parsing, the module's body, the first instance; above 0.
        cpu_s: CPU seconds of the worker over its whole life, above 0; the kernel rounds up to whole seconds.
        memory_mb: MiB of address space above what an empty worker has, at least 16.
        output_chars: Characters of text in one returned value.
        items: Numbers, texts and containers in one returned value.
        depth: Nesting of one returned value, from 1 to 64.
        frame_bytes: Bytes of one message from the worker, at least 1,024.
        prints: Characters of printed text that are kept.
        steps: Steps of one episode; the step after the last one ends the worker.
        source_chars: Characters of a program's source.
        sessions: Sessions of one program that live at the same time.
    """

    call_s: float = 2.0
    load_s: float = 5.0
    cpu_s: float = 30.0
    memory_mb: int = 256
    output_chars: int = 65_536
    items: int = 4_096
    depth: int = 16
    frame_bytes: int = 262_144
    prints: int = 8_192
    steps: int = 10_000
    source_chars: int = 65_536
    sessions: int = 64

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            BadInput: One is outside its range.
        """
        from metagym import checks  # here: a worker takes numbers that are checked, and should not load NumPy for it

        for name in ("call_s", "load_s", "cpu_s"):
            checks.settle(self, name, checks.number, 0.0, above=True)
        for name, least in _LEAST.items():
            checks.settle(self, name, checks.whole, least)
        if self.depth > _DEEPEST:
            raise checks.BadInput(f"depth is at most {_DEEPEST}, got {self.depth}")

    def to_json(self) -> dict[str, Any]:
        """All limits as plain data."""
        return asdict(self)

    @classmethod
    def checked(cls, data: Mapping[str, Any]) -> Limits:
        """Limits from `to_json` of limits that were checked when they were made."""
        limits = object.__new__(cls)
        for name, value in data.items():
            object.__setattr__(limits, name, value)
        return limits


_DEEPEST = 64
"""Far below the nesting at which JSON parsers give up."""

_LEAST = {
    "memory_mb": 16,
    "output_chars": 1,
    "items": 1,
    "depth": 1,
    "frame_bytes": 1_024,
    "prints": 0,
    "steps": 1,
    "source_chars": 1,
    "sessions": 1,
}
