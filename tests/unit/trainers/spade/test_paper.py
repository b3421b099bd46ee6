"""From the paper's presets to the core's settings."""

from __future__ import annotations

import pytest

from metagym.errors import BadInput
from metagym_trainers import presets
from metagym_trainers.spade import training_of


@pytest.mark.parametrize("preset", presets.SPADE, ids=lambda preset: preset.name)
@pytest.mark.parametrize("world", [1, 8])
def test_the_layout_of_a_preset_is_that_of_its_plan(preset: presets.SpadePreset, world: int) -> None:
    made = training_of(preset, world)
    geometry = preset.geometry(world)
    assert made.rows == geometry.local_rows == geometry.block
    assert made.generations == geometry.generations
    assert made.slots * world >= preset.games
    assert made.temperature == preset.recipe.temperature
    assert (made.config.reward, made.config.interval) == (preset.reward, preset.interval)
    assert made.config.setting == preset.setting
    assert (made.config.validation.audit == "reject") == preset.audit


def test_changes_take_the_place_of_the_presets_values() -> None:
    preset = presets.spade("spade-4b-games")
    assert training_of(preset, seed=3, corpus=None).config.corpus is None
    assert training_of(preset, seed=3).config.seed == 3
    with pytest.raises(BadInput):
        training_of(preset, interval=0)
