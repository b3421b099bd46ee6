"""What the tests of the loop share: small runs in memory, their records as text, crews that listen."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from metagym.sesa.config import SesaConfig, switched
from metagym.sesa.crew import Crew
from metagym.sesa.loop import Loop
from metagym.sesa.materials import Material, load_material
from metagym.sesa.skills import SkillBank
from metagym.sesa.slots import MemoryRecords
from tests.unit.sesa.worlds import Recording, wait

SELF_PLAY = ("ssp", "no-failure-distillation", "no-frontier-shaping", "no-retrieval-in-training")


def settings(*switches: str, **changes: Any) -> SesaConfig:
    return switched(SesaConfig(**{"rounds": 2, "questions": 4, "rollouts": 4, **changes}), *switches)


def material() -> Material:
    return load_material("invented")


def recording(config: SesaConfig) -> tuple[Crew, dict[str, Recording]]:
    """A crew whose models keep every request."""
    crew = Crew.of(config, material())
    heard = {name: Recording(model) for name, model in crew.models}
    return replace(crew, **heard), heard  # type: ignore[arg-type]


def play(
    config: SesaConfig,
    folder: Path | None = None,
    records: MemoryRecords | None = None,
    crew: Crew | None = None,
    **options: Any,
) -> Loop:
    """A run with its bank in a folder; the bank is closed afterwards."""
    found = options.pop("material", None) or material()
    bank = SkillBank.open(folder, config.embedder, config.dedup) if folder is not None and config.uses_bank else None
    try:
        loop = Loop(config, crew or Crew.of(config, found), found, bank, records or MemoryRecords(), **options)
        wait(loop.run())
        return loop
    finally:
        if bank is not None:
            bank.close()


def texts(loop: Loop) -> dict[str, str]:
    assert isinstance(loop.records, MemoryRecords)
    return {key: json.dumps(value, sort_keys=True) for key, value in loop.records.items.items()}
