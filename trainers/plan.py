"""What a run will take, before anything is loaded: batch geometry, memory per GPU, tokens, servers and commands.

The formulas of the memory stand in `metagym_trainers.footprint`.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from metagym.checks import number, whole
from metagym.errors import BadInput, MetaGymError
from metagym_trainers import presets
from metagym_trainers.footprint import GIB, SHAPES, Generation, Memory, Sharding, memory
from metagym_trainers.geometry import Geometry
from metagym_trainers.presets import AnyPreset
from metagym_trainers.recipes import ICTPreset, SesaPreset, SpadePreset
from metagym_trainers.servers import GROUP_PORT, Launch, vllm

FIRST_PORT = 8000
SCRIPTS: Mapping[str, str] = {
    "ict": "train_ict_grpo.py",
    "spade": "train_spade_grpo.py",
    "sesa": "train_sesa_selfplay.py",
}


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
        model: The policy's model; the preset's, or another one of its size.
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
    model: str

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
            policies=2 if isinstance(self.preset, SesaPreset) else 1,
        )

    @property
    def servers(self) -> tuple[Launch, ...]:
        """The servers to start, in order; ports count up from 8000, and GPUs from those that train."""
        found: list[Launch] = []
        preset, length, replicas = self.preset, self.preset.recipe.max_context, self.serving

        def add(name: str, model: str, training: bool) -> None:
            port = FIRST_PORT + len(found)
            host, gpus = "0.0.0.0", None  # where they run is for whoever has several machines to say
            if self.nodes == 1:
                first = self.geometry.world + len(found) * replicas
                host, gpus = "127.0.0.1", ",".join(map(str, range(first, first + replicas)))
            found.append(
                vllm(
                    name,
                    model,
                    port=port,
                    host=host,
                    training=training,
                    max_model_len=length,
                    data_parallel=replicas,
                    gpus=gpus,
                )
            )

        if isinstance(preset, ICTPreset):
            add("actor", preset.actor, False)
        if self.generation == "server":
            for name in ("solver", "challenger") if isinstance(preset, SesaPreset) else ("policy",):
                add(name, self.model, True)
        return tuple(found)

    @property
    def command(self) -> str:
        """The command that trains, with everything in which it differs from the script's defaults."""
        world = self.geometry.world
        tail = f"examples/{SCRIPTS[self.preset.system]} {' '.join(self._options())}"
        if world == 1:
            return f"python {tail}"
        size = "8" if self.nodes == 1 else "2x8"
        kind = "ddp" if self.sharding == "none" else self.sharding
        machines = (
            f" --num_machines {self.nodes} --machine_rank $RANK --main_process_ip $HEAD" if self.nodes > 1 else ""
        )
        config = f"--config_file examples/configs/{kind}_{size}gpu.yaml --num_processes {world}{machines}"
        return f"accelerate launch {config} {tail}"

    def _options(self) -> list[str]:
        """The script's options; what only its user can know stands there as a variable of the shell."""
        preset, head = self.preset, "127.0.0.1" if self.nodes == 1 else "$HEAD"
        found = [f"--preset {preset.name}"]
        if self.model != preset.model:
            found.append(f"--model {shlex.quote(self.model)}")
        if self.lora:
            found.append("--lora")
        if self.generation != default_generation(preset, 1):
            found.append(f"--generation {self.generation}")
        if isinstance(preset, SesaPreset):
            found += [f"--serving {self.serving}"] if self.serving > 1 else []
        elif self.generation == "server":
            found.append(f"--server http://{head}:{self.servers[-1].port}")
        if self.geometry.per_device > 1:
            found.append(f"--per-device {self.geometry.per_device}")
        if self.save_steps != preset.recipe.save_every * self.geometry.cycle:
            found.append(f"--save-steps {self.save_steps}")
        if isinstance(preset, ICTPreset):
            actor = f"openai:{preset.actor}?base_url=http://{head}:{self.servers[0].port}/v1&sampling=full"
            found.append(f'--rows "$ROWS" --eval-rows "$HELD_OUT" --actor "{actor}"')
        elif isinstance(preset, SpadePreset):
            found += ['--auditor "$AUDITOR"'] if preset.audit else []
        elif preset.bank:
            found.append('--distiller "$DISTILLER"')
        return found

    def text(self) -> str:
        """All of it as text for a terminal."""
        preset, recipe, geometry = self.preset, self.preset.recipe, self.geometry
        shape = SHAPES[preset.model]
        lines = [f"preset {preset.name}: {self.model}, {shape.parameters / 1e9:.2f} G parameters", ""]
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
        verdict = f"fits {self.gpu_gib:g} GiB"
        if self.memory.total > self.gpu_gib * GIB:
            others = "" if self.lora else "--lora, "
            others += "" if isinstance(preset, SesaPreset) else "more GPUs (--gpus), "
            verdict = f"does NOT fit {self.gpu_gib:g} GiB: take {others}or a larger GPU (--gpu-gib)"
        lines += _table(("sum", f"{self.memory.total / GIB:,.1f}: {verdict}"))
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
    model: str | None = None,
) -> Plan:
    """Plans a run.

    Args:
        preset: Its preset.
        gpus: GPUs that train, on all machines together.
        nodes: Machines; they share the GPUs evenly.
        per_device: Rows of a micro-batch on one GPU.
        sharding: None takes ``zero3`` on several GPUs.
        lora: Adapters alone are trained.
        generation: None takes `default_generation`.
        gpu_gib: Memory of one GPU, in GiB.
        serving: GPUs of each server.
        save_steps: None takes the preset's.
        model: None takes the preset's; another one is planned with the preset's sizes.

    Raises:
        BadInput: A number is out of range, rows cannot be spread, a checkpoint would fall inside a generation batch,
            generation and sharding do not go together, or SESA is asked to train on several GPUs.
    """
    world, nodes = whole("gpus", gpus, 1), whole("nodes", nodes, 1)
    if world % nodes:
        raise BadInput(f"{world} GPUs cannot be shared evenly by {nodes} machines: set gpus to a multiple of {nodes}")
    if isinstance(preset, SesaPreset) and world > 1:
        raise BadInput(
            "two trainers with a bank between them run in one process: take --gpus 1, and give the servers more GPUs "
            "(--generation server --serving 4), where the rollouts are"
        )
    sharding = sharding or ("zero3" if world > 1 else "none")
    generation = generation or default_generation(preset, world)
    for name, value, allowed in (
        ("sharding", sharding, get_args(Sharding)),
        ("generation", generation, get_args(Generation)),
    ):
        if value not in allowed:
            raise BadInput(f"{name} is one of {', '.join(allowed)}, got {value!r:.40}")
    if isinstance(preset, SpadePreset) and sharding != "none" and world > 1 and generation != "server":
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
    serving = whole("serving", serving, 1)
    return Plan(preset, geometry, sharding, lora, generation, gpu_gib, nodes, serving, saved, model or preset.model)


def default_generation(preset: AnyPreset, world: int) -> Generation:
    """Who generates where nobody says.

    Returns:
        ``server`` for SESA's two policies, each of which has one, and where several processes play SPADE's episodes,
        which differ in length; ``colocate`` elsewhere.
    """
    ragged = isinstance(preset, SesaPreset) or (isinstance(preset, SpadePreset) and world > 1)
    return "server" if ragged else "colocate"


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
