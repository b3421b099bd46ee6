"""What a training tells of its generations: one line each, in the run folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from metagym.spade.slots import Slot
from metagym.strictjson import plain_json
from metagym_trainers.spade.core import Generation
from metagym_trainers.spade.rows import digest_of, rejections

FILE = "generations.jsonl"
"""Name of the file."""


class Records:
    """Writes a line per generation. A resumed run writes in the place of what an interrupted one wrote after its save.

    Args:
        folder: The run folder.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / FILE
        self._lines: int | None = None

    def write(self, generation: Generation) -> None:
        """Appends the line of a generation; whatever stands in its place or after it goes first."""
        if self._lines != generation.number:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            old = self.path.read_text("utf-8").splitlines(keepends=True) if self.path.exists() else []
            part = self.path.with_suffix(".part")
            part.write_text("".join(old[: generation.number]), "utf-8")
            os.replace(part, self.path)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(plain_json(line_of(generation), "generation"), ensure_ascii=False) + "\n")
        self._lines = generation.number + 1


def line_of(generation: Generation) -> dict[str, Any]:
    """A generation as plain JSON: its numbers, the refusals by code, and its designs in short."""
    return {
        "number": generation.number,
        "metrics": dict(generation.metrics),
        "rejected": dict(sorted(rejections([slot.design for slot in generation.slots]).items())),
        "designs": [_told(slot, place in generation.edited) for place, slot in enumerate(generation.slots)],
    }


def _told(slot: Slot, edited: bool) -> dict[str, Any]:
    design, played = slot.design, slot.played
    estimate = None if played is None else played.estimate
    return {
        "slot": design.slot,
        "skill": design.skill,
        "edited": edited,
        "code": design.first.code,
        "digest": digest_of(design)[:16] if design.ok else None,
        "win_rate": None if estimate is None else estimate.plain.win_rate,
        "regret": None if estimate is None else estimate.regret.value,
        "reward": None if slot.paid is None else slot.paid.breakdown.trained,
    }
