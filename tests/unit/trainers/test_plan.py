"""What a run is said to take before it starts, against figures worked out by hand."""

from __future__ import annotations

import subprocess
import sys

import pytest

from metagym.errors import BadInput
from metagym_trainers import footprint, plan, presets
from metagym_trainers.geometry import Geometry
from metagym_trainers.recipes import Recipe

SHAPE = footprint.Shape(1e9, 10, 100, 400, 4, 2, 25, 1000)
RECIPE = Recipe(generations=4, groups=4, max_completion=50, max_context=200)
GIB = 1024**3


def parts(**settings: object) -> list[float]:
    """The memory parts in order, in bytes."""
    world = int(str(settings.pop("world", 1)))
    geometry = Geometry(4, 1, world, 16 // world)
    return list(footprint.memory(SHAPE, RECIPE, geometry, **settings).parts.values())  # type: ignore[arg-type]


def test_memory_of_a_full_fine_tuning_on_one_gpu() -> None:
    assert parts(generation="transformers") == [
        16e9,  # 16 bytes x 1e9 parameters
        2 * 200 * 100 * 10,  # 2 bytes x 200 tokens x width 100 x 10 layers
        34 * 200 * 100,  # 34 bytes x 200 tokens x width 100
        8 * 50 * 1000,  # 8 bytes x 50 tokens x 1000 words
        16 * 200 * 2 * 10 * 2 * 25 * 2,  # 16 rows x 200 tokens x (K and V) x 10 layers x 2 heads x 25 x 2 bytes
        2 * GIB,
    ]


@pytest.mark.parametrize("sharding", ["zero3", "fsdp2"])
def test_sharding_divides_the_model_states_and_gathers_two_layers(sharding: str) -> None:
    found = parts(sharding=sharding, world=8, generation="server")
    assert found[0] == 2e9 and found[1] == 2 * 2 * 1e9 / 10
    assert sum(found) == 2e9 + 4e8 + 400_000 + 680_000 + 400_000 + 2 * GIB


def test_lora_trains_its_adapters_alone() -> None:
    # Inputs + outputs of q, k, v, o: 200 + 150 + 150 + 200; of gate, up, down: 3 x 500; rank 32; 10 layers.
    adapter = 10 * 32 * (200 + 150 + 150 + 200 + 1500)
    assert SHAPE.adapter(32) == adapter == 704_000
    assert parts(lora=True, generation="server")[:2] == [16 * adapter, 2e9]


def test_a_kl_term_needs_the_reference_model_and_adapters_do_not() -> None:
    recipe = Recipe(generations=4, groups=4, beta=0.01)
    geometry = Geometry(4, 1, 1, 16)
    full, lora = (footprint.memory(SHAPE, recipe, geometry, lora=adapters).parts for adapters in (False, True))
    assert full["reference model for the KL term (2 B)"] == 2e9
    assert not any("reference" in name for name in lora)


def test_colocated_generation_takes_its_share_of_the_gpu() -> None:
    assert parts(generation="colocate", gpu_gib=100.0)[-2] == pytest.approx(30 * GIB)


def test_the_adapters_of_a_known_model_are_as_large_as_peft_makes_them() -> None:
    # 28 layers x 32 x ((3584 + 3584) x 2 + (3584 + 512) x 2 + 3 x (3584 + 18944)); 1 % of the model.
    assert footprint.SHAPES["Qwen/Qwen2.5-7B-Instruct"].adapter(32) == 80_740_352


@pytest.mark.parametrize("name", presets.NAMES)
@pytest.mark.parametrize(("gpus", "nodes"), [(1, 1), (8, 1), (16, 2)])
def test_every_preset_can_be_planned_on_1_8_and_2x8_gpus(name: str, gpus: int, nodes: int) -> None:
    preset = presets.named(name)
    if isinstance(preset, presets.SesaPreset) and gpus > 1:  # what the script refuses is not planned either
        with pytest.raises(BadInput, match="one process: take --gpus 1, and give the servers more GPUs"):
            plan.make(preset, gpus=gpus, nodes=nodes)
        return
    made = plan.make(preset, gpus=gpus, nodes=nodes)
    text = made.text()
    geometry = made.geometry
    assert f"{geometry.rows:,} = {geometry.groups} groups x {geometry.generations}" in text
    assert f"--preset {name}" in made.command and made.save_steps % geometry.cycle == 0
    assert len({launch.port for launch in made.servers}) == len(made.servers)
    assert all(launch.shown() in text for launch in made.servers)
    if gpus > 1:
        assert f"zero3_{'8' if nodes == 1 else '2x8'}gpu.yaml --num_processes {gpus}" in made.command


def test_tokens_and_work_of_an_ict_run() -> None:
    text = plan.make(presets.named("ict-7b-k3"), gpus=8).text()
    # 128 rows x 2000; 128 rows x 16384; 128 rows x 3 tasks, x 25 steps, x 500 tokens.
    for figure in ("256,000", "2,097,152", "384", "9,600", "4,800,000"):
        assert f" {figure}\n" in text


def test_spade_counts_both_arms_of_all_its_games() -> None:
    text = plan.make(presets.named("spade-4b-games"), gpus=8).text()
    assert " 512 = 32 groups x 16\n" in text  # 8 GPUs x (1 designer group + 3 games) x 16
    assert " 768\n" in text and " 19,200\n" in text  # 24 games x (16 + 16) plays; x 25 turns


def test_selfplay_serves_two_policies_at_ports_and_gpus_of_their_own() -> None:
    made = plan.make(presets.named("sesa-8b"), serving=2)
    assert [(launch.name, launch.port, launch.training) for launch in made.servers] == [
        ("solver", 8000, True),
        ("challenger", 8001, True),
    ]
    assert [launch.environment["CUDA_VISIBLE_DEVICES"] for launch in made.servers] == ["1,2", "3,4"]
    assert "51216 and 51217" in made.text()


def test_selfplay_holds_two_policies_on_its_gpu_and_starts_no_third_server() -> None:
    one, two = (footprint.memory(SHAPE, RECIPE, Geometry(4, 1, 1, 16), policies=count).parts for count in (1, 2))
    assert list(two.values())[0] == 2 * list(one.values())[0] == 32e9
    assert two["colocated vLLM (0.3 of the GPU each)"] == 2 * one["colocated vLLM (0.3 of the GPU each)"]
    assert sum(two.values()) - sum(one.values()) == 16e9 + 0.3 * 80 * GIB  # they train by turns: the rest is there once
    alone = plan.make(presets.named("sesa-8b"), generation="colocate")
    assert alone.servers == () and "does NOT fit" in alone.text()
    states = "model states (16 B per trained parameter)"
    assert alone.memory.parts[states] == 2 * 16 * 8.19e9
    assert plan.make(presets.named("spade-8b-games")).memory.parts[states] == 16 * 8.19e9


def test_no_server_shares_a_gpu_with_a_trainer() -> None:
    made = plan.make(presets.named("ict-7b-k3"), gpus=4, generation="server")
    assert [launch.environment["CUDA_VISIBLE_DEVICES"] for launch in made.servers] == ["4", "5"]


def test_another_model_is_what_is_served_and_trained() -> None:
    made = plan.make(presets.named("sesa-8b"), model="mine/8b")
    assert all("mine/8b" in launch.command and launch.model == "mine/8b" for launch in made.servers)
    assert "--model mine/8b" in made.command and "preset sesa-8b: mine/8b" in made.text()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gpus": 3}, "128 rows per generation batch cannot be cut into 1 updates on 3 GPUs.*take 1 or 2 or 4"),
        ({"gpus": 8, "per_device": 3}, "take 1, 2, 4, 8, 16 rows"),
        ({"gpus": 8, "nodes": 3}, "multiple of 3"),
        ({"gpus": 0}, "gpus is at least 1"),
        ({"sharding": "zero9"}, "none, zero3, fsdp2"),
        ({"generation": "magic"}, "transformers, colocate, server"),
        ({"gpu_gib": 0}, "gpu_gib is above 0"),
    ],
)
def test_what_cannot_work_is_one_sentence_with_the_way_out(settings: dict[str, int], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        plan.make(presets.named("ict-7b-k3"), **settings)  # type: ignore[arg-type]


def test_ragged_episodes_are_not_generated_by_sharded_models_together() -> None:
    with pytest.raises(BadInput, match="set generation=server"):
        plan.make(presets.named("spade-4b-games"), gpus=8, generation="colocate")
    plan.make(presets.named("spade-4b-games"), gpus=8, generation="colocate", sharding="none")


def test_a_checkpoint_inside_a_generation_batch_is_refused() -> None:
    with pytest.raises(BadInput, match="save_steps=5 .*multiple of 2"):
        plan.make(presets.named("spade-4b-games"), save_steps=5)


def test_the_command_prints_the_plan_and_imports_no_torch() -> None:
    code = (
        "import sys; from metagym_trainers.plan import main; code = main(sys.argv[1:]); "
        "assert 'torch' not in sys.modules; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, "ict-7b-k5", "--lora"], capture_output=True, text=True)
    assert done.returncode == 0 and "LoRA, sharding none" in done.stdout, done.stderr
    done = subprocess.run([sys.executable, "-c", code, "ict-7b-k5", "--gpus", "3"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("error: 128 rows")
