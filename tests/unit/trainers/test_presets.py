"""The papers' settings: what they say, that TRL takes them, and that they name their sources."""

from __future__ import annotations

from typing import Any

import pytest

from metagym.errors import BadInput, UnknownName
from metagym.sesa.shaping import load_shape
from metagym.spade.rewards import preset as reward_preset
from metagym_trainers import presets
from metagym_trainers.geometry import Geometry

EVERY = [presets.named(name) for name in presets.NAMES]


def test_the_presets_that_were_asked_for_are_there() -> None:
    assert presets.ICT_NAMES == ("ict-7b-k3", "ict-7b-k5")
    assert set(presets.SPADE_NAMES) == {
        f"spade-{size}-{what}" for size in ("4b", "8b", "30b") for what in ("games", "tools")
    }
    assert {"sesa-4b", "sesa-8b", "sesa-llama-8b", "ssp-4b", "ssp-8b"} == set(presets.SESA_NAMES)
    assert (*presets.ICT_NAMES, *presets.SPADE_NAMES, *presets.SESA_NAMES) == presets.NAMES


@pytest.mark.parametrize("preset", EVERY, ids=presets.NAMES)
def test_every_preset_names_its_sources_and_what_is_ours(preset: presets.AnyPreset) -> None:
    assert all(preset.sources) and all(preset.ours) and preset.billions > 1
    for world in (1, 8, 16):
        geometry = preset.geometry(world)
        geometry.check_saving(preset.grpo(world)["save_steps"])


def test_ict_has_the_papers_batches() -> None:
    sizes = [(preset.batch_size, preset.meta_turns, preset.model) for preset in presets.ICT]
    assert sizes == [(3, 4, "Qwen/Qwen2.5-7B-Instruct"), (5, 4, "Qwen/Qwen2.5-7B-Instruct")]


def test_spade_has_the_launchers_numbers() -> None:
    games, tools = presets.spade("spade-30b-games"), presets.spade("spade-4b-tools")
    assert (games.games, games.hint_plays, games.interval, games.delay, games.max_turns) == (24, 16, 4, 4, 25)
    sent = games.grpo(world=8)
    assert (sent["learning_rate"], sent["adam_beta2"], sent["weight_decay"], sent["temperature"]) == (
        1e-6,
        0.98,
        0.1,
        0.6,
    )
    assert (sent["epsilon"], sent["epsilon_high"], sent["beta"], sent["scale_rewards"]) == (0.2, 0.28, 0.0, "none")
    assert (tools.interval, tools.games, tools.hint_plays, tools.reward) == (32, 16, 4, "spade_regret")
    assert tools.grpo()["beta"] == 0.005 and tools.max_words == 4000
    assert presets.spade("spade-8b-games").grpo()["beta"] == 0.005
    for preset in presets.SPADE:
        reward_preset(preset.reward, **preset.reward_options)


@pytest.mark.parametrize("world", [1, 3, 8, 16])
def test_spade_blocks_hold_all_games_and_are_never_cut(world: int) -> None:
    preset = presets.spade("spade-4b-games")
    geometry = preset.geometry(world)
    assert preset.slots(world) * world >= preset.games
    assert geometry.local_rows == (preset.slots(world) + 1) * preset.recipe.generations


def test_sesa_and_ssp_differ_in_shape_and_bank_alone() -> None:
    sesa, ssp = presets.sesa("sesa-8b"), presets.sesa("ssp-8b")
    assert (sesa.shape, sesa.bank, ssp.shape, ssp.bank) == ("quadratic", True, "one_minus_acc", False)
    assert sesa.grpo(8) == ssp.grpo(8) and sesa.challenger_grpo(8) == ssp.challenger_grpo(8)
    assert (sesa.grpo()["num_generations"], sesa.grpo()["temperature"]) == (5, 1.0)
    assert sesa.challenger_grpo()["temperature"] == 0.8
    for preset in presets.SESA:
        load_shape(preset.shape)


def test_lora_raises_the_rate_and_overrides_have_the_last_word() -> None:
    preset = presets.ict("ict-7b-k3")
    assert preset.grpo(lora=True)["learning_rate"] == pytest.approx(10 * preset.grpo()["learning_rate"])
    assert preset.grpo(bf16=False, max_steps=3) == preset.grpo() | {"bf16": False, "max_steps": 3}


@pytest.mark.parametrize("look", [presets.named, presets.ict, presets.spade, presets.sesa])
def test_an_unknown_name_lists_what_there_is(look: Any) -> None:
    with pytest.raises(UnknownName, match="no preset 'ict-70b'.*; there are .*-"):
        look("ict-70b")


@pytest.mark.parametrize("preset", EVERY, ids=presets.NAMES)
def test_trl_takes_every_preset_and_sees_the_same_geometry(preset: presets.AnyPreset, tmp_path: Any) -> None:
    trl = pytest.importorskip("trl")
    dicts = [preset.grpo(1)]
    if isinstance(preset, presets.SesaPreset):
        dicts.append(preset.challenger_grpo(1))
    for sent in dicts:
        args = trl.GRPOConfig(output_dir=str(tmp_path), report_to="none", use_cpu=True, **(sent | {"bf16": False}))
        assert args.generation_batch_size == sent["per_device_train_batch_size"] * sent["steps_per_generation"]
        assert args.top_p == 1.0 and args.top_k == 0  # whatever biases the importance ratio is off
    assert args.generation_batch_size % args.num_generations == 0


@pytest.mark.parametrize(
    ("geometry", "words"),
    [
        ({"generations": 8, "per_device": 2, "world": 2, "steps_per_generation": 3}, "12 rows .* multiple of 2"),
        ({"generations": 4, "steps_per_generation": 8, "block": 12}, "8 rows per GPU .* multiple of 12"),
        ({"generations": 2, "steps_per_generation": 4, "accumulation": 3}, "divisor of 4"),
        ({"generations": 1}, "generations is at least 2"),
        ({"generations": 2, "world": 0}, "world is at least 1"),
    ],
)
def test_a_geometry_that_cannot_work_says_what_would(geometry: dict[str, int], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Geometry(**geometry)


@pytest.mark.parametrize(
    ("steps", "accumulation", "iterations", "cycle", "updates"),
    [(4, None, 1, 1, 1), (4, 1, 1, 4, 4), (4, 2, 3, 6, 6), (2, 4, 1, 1, 0.5)],
)
def test_the_cycle_is_what_a_generation_batch_lasts(
    steps: int, accumulation: int | None, iterations: int, cycle: int, updates: float
) -> None:
    geometry = Geometry(2, 2, 1, steps, accumulation, iterations)
    assert (geometry.cycle, geometry.updates) == (cycle, updates)
    geometry.check_saving(2 * cycle)
    if cycle > 1:
        with pytest.raises(BadInput, match=f"multiple of {cycle}"):
            geometry.check_saving(2 * cycle + 1)
