"""What a run will take, before anything is loaded: batch geometry, memory per GPU, tokens, servers and commands.

Memory is an estimate from four published formulas, each written beside its line:

* model states of mixed-precision Adam: 16 bytes per trained parameter (bf16 weight and gradient, fp32 master weight and
  two moments; Rajbhandari et al. 2020, arXiv 1910.02054, section 3.1), divided by the GPUs where they are sharded
  (ZeRO-3 and FSDP2, section 5); frozen weights take 2 bytes;
* activations with full recomputation: 2 bytes x tokens x hidden per layer, and 34 bytes x tokens x hidden for the one
  layer that is being recomputed (Korthikanti et al. 2022, arXiv 2205.05198, sections 4.1 and 5; the term in the square
  of the length falls away with flash attention);
* logits: 8 bytes x completion tokens x vocabulary (bf16 logits, their gradient, one fp32 copy for the softmax; ours,
  read off TRL 1.16's `_get_per_token_logps_and_entropies`);
* key-value cache: 2 x layers x KV heads x head size x 2 bytes per token.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from metagym.checks import number, whole
from metagym.errors import BadInput, MetaGymError
from metagym_trainers import presets
from metagym_trainers.geometry import Geometry
from metagym_trainers.presets import LORA, AnyPreset
from metagym_trainers.recipes import ICTPreset, Recipe, SesaPreset, SpadePreset
from metagym_trainers.servers import GROUP_PORT, Launch, vllm

GIB = 1024**3
Sharding = Literal["none", "zero3", "fsdp2"]
Generation = Literal["transformers", "colocate", "server"]
COLOCATED = 0.3
"""TRL's default share of a GPU for colocated vLLM (`vllm_gpu_memory_utilization`)."""
CONTEXT_GIB = 2.0
"""CUDA context, NCCL buffers and fragmentation; ours."""
FIRST_PORT = 8000


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder that decide its memory.

    Attributes:
        parameters: All of them.
        layers: Decoder layers.
        hidden: Width.
        intermediate: Width of the feed-forward part; of one expert in a mixture.
        heads: Query heads.
        kv_heads: Key and value heads.
        head: Size of a head.
        vocabulary: Tokens.
        experts: Experts per layer; 1 in a dense model.
    """

    parameters: float
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int
    experts: int = 1

    def adapter(self, rank: int) -> int:
        """Parameters of LoRA adapters on all linear layers: rank x (inputs + outputs) each.

        Experts and routers get none: transformers 5 keeps them as plain parameters, which ``all-linear`` passes over.
        """
        attention = 2 * (self.hidden + self.heads * self.head) + 2 * (self.hidden + self.kv_heads * self.head)
        feed_forward = 3 * (self.hidden + self.intermediate) if self.experts == 1 else 0
        return self.layers * rank * (attention + feed_forward)

    @property
    def cache_bytes(self) -> int:
        """Key-value cache per token, in bytes of bf16."""
        return 2 * self.layers * self.kv_heads * self.head * 2


SHAPES: Mapping[str, Shape] = {
    "Qwen/Qwen2.5-7B-Instruct": Shape(7.62e9, 28, 3584, 18_944, 28, 4, 128, 152_064),
    "Qwen/Qwen3-4B": Shape(4.02e9, 36, 2560, 9728, 32, 8, 128, 151_936),
    "Qwen/Qwen3-4B-Instruct-2507": Shape(4.02e9, 36, 2560, 9728, 32, 8, 128, 151_936),
    "Qwen/Qwen3-8B": Shape(8.19e9, 36, 4096, 12_288, 32, 8, 128, 151_936),
    "Qwen/Qwen3-30B-A3B-Instruct-2507": Shape(30.53e9, 48, 2048, 768, 32, 4, 128, 151_936, experts=128),
    "meta-llama/Llama-3.1-8B-Instruct": Shape(8.03e9, 32, 4096, 14_336, 32, 8, 128, 128_256),
}
"""The presets' models, from their public ``config.json``."""


@dataclass(frozen=True)
class Memory:
    """Memory of one training GPU, in bytes, by what it holds."""

    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self.parts.values())


def memory(
    shape: Shape,
    recipe: Recipe,
    geometry: Geometry,
    *,
    sharding: Sharding = "none",
    lora: bool = False,
    generation: Generation = "colocate",
    gpu_gib: float = 80.0,
) -> Memory:
    """Estimates the memory of one training GPU; the formulas are those of the module's text.

    Args:
        shape: The model.
        recipe: Longest row and completion, and whether there is a KL term.
        geometry: Rows of a micro-batch, rows of a generation, GPUs.
        sharding: Who shares the model states.
        lora: Adapters alone are trained.
        generation: Who generates: the model itself, vLLM on the same GPU, or a server elsewhere.
        gpu_gib: Memory of the GPU, in GiB.
    """
    parts: dict[str, float] = {}
    share = geometry.world if sharding != "none" else 1
    trained = shape.adapter(int(LORA["r"])) if lora else shape.parameters
    parts["model states (16 B per trained parameter)"] = 16 * trained / share
    if lora:
        parts["frozen weights (2 B)"] = 2 * shape.parameters / share
    elif recipe.beta:
        parts["reference model for the KL term (2 B)"] = 2 * shape.parameters / share
    if sharding != "none":
        parts["two gathered layers (2 B)"] = 2 * 2 * shape.parameters / shape.layers
    tokens = geometry.per_device * recipe.max_context
    parts["activations, recomputed (2 B x tokens x hidden x layers)"] = 2 * tokens * shape.hidden * shape.layers
    parts["one layer's activations (34 B x tokens x hidden)"] = 34 * tokens * shape.hidden
    completion = geometry.per_device * min(recipe.max_completion, recipe.max_context)
    parts["logits (8 B x completion tokens x vocabulary)"] = 8.0 * completion * shape.vocabulary
    if generation == "colocate":
        parts[f"colocated vLLM ({COLOCATED:g} of the GPU)"] = COLOCATED * gpu_gib * GIB
    elif generation == "transformers":
        parts["key-value cache of all local rows"] = float(geometry.local_rows * recipe.max_context * shape.cache_bytes)
    parts["context and fragmentation"] = CONTEXT_GIB * GIB
    return Memory(parts)


@dataclass(frozen=True)
class Plan:
    """Everything that is known of a run before it starts.

    Attributes:
        preset: Its preset.
        geometry: Of the policy's batches; of SESA's solver.
        sharding: See `memory`.
        lora: See `memory`.
        generation: See `memory`.
        gpu_gib: See `memory`.
        nodes: Machines.
        serving: GPUs that serve, for each server.
        save_steps: Optimiser steps between two checkpoints.
    """

    preset: AnyPreset
    geometry: Geometry
    sharding: Sharding
    lora: bool
    generation: Generation
    gpu_gib: float
    nodes: int
    serving: int
    save_steps: int

    @property
    def memory(self) -> Memory:
        """Of one training GPU."""
        return memory(
            SHAPES[self.preset.model],
            self.preset.recipe,
            self.geometry,
            sharding=self.sharding,
            lora=self.lora,
            generation=self.generation,
            gpu_gib=self.gpu_gib,
        )

    @property
    def servers(self) -> tuple[Launch, ...]:
        """The servers to start, in order; ports count up from 8000."""
        found: list[Launch] = []
        preset, length, replicas = self.preset, self.preset.recipe.max_context, self.serving

        def add(name: str, model: str, training: bool) -> None:
            port = FIRST_PORT + len(found)
            host = "0.0.0.0" if self.nodes > 1 else "127.0.0.1"
            found.append(
                vllm(name, model, port=port, host=host, training=training, max_model_len=length, data_parallel=replicas)
            )

        if isinstance(preset, ICTPreset):
            add("actor", preset.actor, False)
        if self.generation == "server":
            for name in ("solver", "challenger") if isinstance(preset, SesaPreset) else ("policy",):
                add(name, preset.model, True)
        elif isinstance(preset, SesaPreset):
            add("opponent", preset.model, False)
        return tuple(found)

    @property
    def command(self) -> str:
        """The command that trains."""
        script = {"ict": "train_ict_grpo.py", "spade": "train_spade_grpo.py", "sesa": "train_sesa_selfplay.py"}
        tail = f"examples/{script[self.preset.system]} --preset {self.preset.name}" + (" --lora" if self.lora else "")
        world = self.geometry.world
        if world == 1:
            return f"python {tail}"
        size = "8" if self.nodes == 1 else "2x8"
        kind = "ddp" if self.sharding == "none" else self.sharding
        machines = (
            f" --num_machines {self.nodes} --machine_rank $RANK --main_process_ip $HEAD" if self.nodes > 1 else ""
        )
        config = f"--config_file examples/configs/{kind}_{size}gpu.yaml --num_processes {world}{machines}"
        return f"accelerate launch {config} {tail}"

    def text(self) -> str:
        """All of it as text for a terminal."""
        preset, recipe, geometry = self.preset, self.preset.recipe, self.geometry
        shape = SHAPES[preset.model]
        lines = [f"preset {preset.name}: {preset.model}, {shape.parameters / 1e9:.2f} G parameters", ""]
        lines += ["batch geometry"]
        lines += _table(
            ("GPUs that train", geometry.world),
            ("rows per micro-batch and GPU", geometry.per_device),
            ("micro-batches per generation", geometry.steps_per_generation),
            ("micro-batches per optimiser step", geometry.micro_per_update),
            ("rows per generation", f"{geometry.rows:,} = {geometry.groups} groups x {geometry.generations}"),
            ("rows per optimiser step", geometry.rows_per_update),
            ("optimiser steps per generation", f"{geometry.updates:g}"),
            ("checkpoint every", f"{self.save_steps} optimiser steps (a multiple of {geometry.cycle})"),
        )
        if isinstance(preset, SesaPreset):
            other = preset.challenger
            lines += _table(("challenger's rows per generation", other.groups * other.generations))
        lines += ["", f"memory of one training GPU, GiB (estimate; {_words(self)})"]
        lines += _table(*((name, f"{size / GIB:,.1f}") for name, size in self.memory.parts.items()))
        verdict = "fits" if self.memory.total <= self.gpu_gib * GIB else "does NOT fit"
        lines += _table(("sum", f"{self.memory.total / GIB:,.1f}: {verdict} {self.gpu_gib:g} GiB"))
        lines += ["", "tokens, at most"]
        lines += _table(
            ("sampled by the policy per generation", f"{geometry.rows * recipe.max_completion:,}"),
            ("trained on per optimiser step", f"{geometry.rows_per_update * recipe.max_context:,}"),
            *_work(preset, geometry),
        )
        serving = len(self.servers) * self.serving
        lines += ["", f"servers ({serving} GPUs beside the {geometry.world} that train; none may be shared)"]
        lines += [f"  {launch.shown()}" for launch in self.servers] or ["  none"]
        if sum(launch.training for launch in self.servers) > 1:
            lines += [f"  (weights arrive at the group ports {GROUP_PORT} and {GROUP_PORT + 1})"]
        lines += ["", "training", f"  {self.command}", ""]
        return "\n".join([*lines, *(f"note: {note}" for note in preset.ours)])


def make(
    preset: AnyPreset,
    *,
    gpus: int = 1,
    nodes: int = 1,
    per_device: int = 1,
    sharding: Sharding | None = None,
    lora: bool = False,
    generation: Generation | None = None,
    gpu_gib: float = 80.0,
    serving: int = 1,
    save_steps: int | None = None,
) -> Plan:
    """Plans a run.

    Args:
        preset: Its preset.
        gpus: GPUs that train, on all machines together.
        nodes: Machines; they share the GPUs evenly.
        per_device: Rows of a micro-batch on one GPU.
        sharding: None takes ``zero3`` on several GPUs.
        lora: Adapters alone are trained.
        generation: None takes ``server`` where several processes play episodes of different lengths (SPADE, SESA),
            and ``colocate`` elsewhere.
        gpu_gib: Memory of one GPU, in GiB.
        serving: GPUs of each server.
        save_steps: None takes the preset's.

    Raises:
        BadInput: A number is out of range, rows cannot be spread, a checkpoint would fall inside a generation batch,
            or generation and sharding do not go together.
    """
    world, nodes = whole("gpus", gpus, 1), whole("nodes", nodes, 1)
    if world % nodes:
        raise BadInput(f"{world} GPUs cannot be shared evenly by {nodes} machines: set gpus to a multiple of {nodes}")
    ragged = isinstance(preset, (SpadePreset, SesaPreset))
    sharding = sharding or ("zero3" if world > 1 else "none")
    generation = generation or ("server" if ragged and world > 1 else "colocate")
    for name, value, allowed in (
        ("sharding", sharding, get_args(Sharding)),
        ("generation", generation, get_args(Generation)),
    ):
        if value not in allowed:
            raise BadInput(f"{name} is one of {', '.join(allowed)}, got {value!r:.40}")
    if ragged and sharding != "none" and world > 1 and generation != "server":
        raise BadInput(
            f"with {sharding} all GPUs generate together, and episodes of different lengths would wait for each other "
            "for ever: set generation=server"
        )
    geometry = preset.geometry(world, per_device)
    saved = preset.recipe.save_every * geometry.cycle if save_steps is None else save_steps
    geometry.check_saving(saved)
    if isinstance(preset, SesaPreset):
        preset.challenger.geometry(world, per_device)
    gpu_gib = number("gpu_gib", gpu_gib, 0, above=True)
    return Plan(preset, geometry, sharding, lora, generation, gpu_gib, nodes, whole("serving", serving, 1), saved)


def _work(preset: AnyPreset, geometry: Geometry) -> list[tuple[str, object]]:
    """What a generation batch asks of others, at most."""
    if isinstance(preset, ICTPreset):
        episodes = geometry.rows * preset.batch_size
        return [
            ("replayed episodes per generation", f"{episodes:,}"),
            ("actor calls", f"{episodes * preset.actor_steps:,}"),
            ("sampled by the actor", f"{episodes * preset.actor_steps * preset.actor_tokens:,}"),
        ]
    if isinstance(preset, SpadePreset):
        plays = preset.slots(geometry.world) * geometry.world * (geometry.generations + preset.hint_plays)
        return [("plays per generation, both arms", f"{plays:,}"), ("turns", f"{plays * preset.max_turns:,}")]
    searches = geometry.rows * preset.max_turns
    questions = preset.challenger.groups * preset.challenger.generations
    return [
        ("the solver's searches per generation", f"{searches:,}"),
        ("solver rollouts that pay the challenger", f"{questions * preset.rollouts:,}"),
    ]


def _words(plan: Plan) -> str:
    kind = "LoRA" if plan.lora else "full fine-tuning"
    return f"{kind}, sharding {plan.sharding}, generation {plan.generation}"


def _table(*rows: tuple[str, object]) -> list[str]:
    return [f"  {name:<58} {value}" for name, value in rows]


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m metagym_trainers.plan PRESET``: prints the plan; exit code 2 where the settings cannot work."""
    parser = argparse.ArgumentParser(prog="python -m metagym_trainers.plan", description=main.__doc__)
    parser.add_argument("preset", choices=presets.NAMES)
    add_arguments(parser)
    given = vars(parser.parse_args(arguments))
    try:
        print(make(presets.named(given.pop("preset")), **given).text())
    except MetaGymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a plan, for scripts that have a ``--dry-run``; their names are `make`'s."""
    parser.add_argument("--gpus", type=int, default=1, help="GPUs that train, on all machines together")
    parser.add_argument("--nodes", type=int, default=1, help="machines")
    parser.add_argument("--per-device", type=int, default=1, help="rows of a micro-batch on one GPU")
    parser.add_argument("--sharding", choices=get_args(Sharding), help="default: zero3 on several GPUs")
    parser.add_argument("--lora", action="store_true", help="train adapters alone")
    parser.add_argument("--generation", choices=get_args(Generation), help="who generates")
    parser.add_argument("--gpu-gib", type=float, default=80.0, help="memory of one GPU, in GiB")
    parser.add_argument("--serving", type=int, default=1, help="GPUs of each server")
    parser.add_argument("--save-steps", type=int, help="optimiser steps between two checkpoints")


if __name__ == "__main__":
    sys.exit(main())
