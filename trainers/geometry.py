"""Batch geometry of GRPO: how many rows are generated at once, how they are cut, and when a checkpoint may fall.

The rules are TRL 1.16's (`GRPOConfig.__post_init__`, `GRPOTrainer._get_train_sampler`); they are checked here before
any model is loaded, so that a run that cannot work costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from metagym.checks import settle, whole
from metagym.errors import BadInput


@dataclass(frozen=True)
class Geometry:
    """The numbers that decide a generation batch; all are whole and at least 1.

    Attributes:
        generations: Rows of one group (`num_generations`), at least 2.
        per_device: Rows of one micro-batch on one GPU (`per_device_train_batch_size`).
        world: Processes, i.e. GPUs that train.
        steps_per_generation: Micro-batches that one generation batch is cut into.
        accumulation: Micro-batches of one optimiser step (`gradient_accumulation_steps`); None takes
            `steps_per_generation`, i.e. one optimiser step per generation batch.
        iterations: Times that a generation batch is used (`num_iterations`).
        block: Rows of one group layout that must not be cut by the border of a process; 1 for none. SPADE's rollout
            function needs its designer group and agent groups side by side in one process.
    """

    generations: int
    per_device: int = 1
    world: int = 1
    steps_per_generation: int = 1
    accumulation: int | None = None
    iterations: int = 1
    block: int = 1

    def __post_init__(self) -> None:
        """Checks the numbers and that groups and blocks are whole.

        Raises:
            BadInput: One is out of range, or a group or block would be cut; the message names the next good number.
        """
        for name in ("per_device", "world", "steps_per_generation", "iterations", "block"):
            settle(self, name, whole, 1)
        settle(self, "generations", whole, 2)
        settle(self, "accumulation", whole, 1, none=True)
        if self.rows % self.generations:
            raise BadInput(
                f"{self.rows} rows per generation batch ({self.per_device} per GPU x {self.world} GPUs x "
                f"{self.steps_per_generation} steps) are no whole groups of {self.generations}: "
                f"set steps_per_generation to a multiple of {_multiple(self.generations, self.per_device * self.world)}"
            )
        if self.local_rows % self.block:
            raise BadInput(
                f"{self.local_rows} rows per GPU ({self.per_device} x {self.steps_per_generation} steps) are no whole "
                f"blocks of {self.block}: set steps_per_generation to a multiple of "
                f"{_multiple(self.block, self.per_device)}"
            )
        micro = self.steps_per_generation * self.iterations
        if micro % self.micro_per_update and self.micro_per_update % micro:
            raise BadInput(
                f"an optimiser step takes {self.micro_per_update} micro-batches and a generation batch holds {micro}: "
                "one of them must divide the other, or updates mix batches of different policies; set "
                f"gradient_accumulation_steps to a divisor of {micro}"
            )

    @property
    def micro_per_update(self) -> int:
        """Micro-batches of one optimiser step."""
        return self.accumulation or self.steps_per_generation

    @property
    def local_rows(self) -> int:
        """Rows that one process generates at once."""
        return self.per_device * self.steps_per_generation

    @property
    def rows(self) -> int:
        """Rows of a generation batch over all processes (`generation_batch_size`)."""
        return self.local_rows * self.world

    @property
    def groups(self) -> int:
        """Groups of a generation batch, i.e. prompts."""
        return self.rows // self.generations

    @property
    def rows_per_update(self) -> int:
        """Rows of one optimiser step."""
        return self.per_device * self.world * self.micro_per_update

    @property
    def updates(self) -> float:
        """Optimiser steps per generation batch; below 1 where several batches make one step."""
        return self.steps_per_generation * self.iterations / self.micro_per_update

    @property
    def cycle(self) -> int:
        """The smallest number of optimiser steps after which a generation batch has been used up."""
        return cycle_steps(self.steps_per_generation, self.iterations, self.micro_per_update)

    def check_saving(self, save_steps: int) -> None:
        """Refuses checkpoints inside a generation batch: a run resumed there sees other prompts and other rewards.

        Args:
            save_steps: Optimiser steps between two checkpoints.

        Raises:
            BadInput: `save_steps` is no multiple of the cycle.
        """
        if whole("save_steps", save_steps, 1) % self.cycle:
            raise BadInput(
                f"save_steps={save_steps} falls inside a generation batch, which lasts {self.cycle} optimiser steps: "
                f"a resumed run would see other prompts; set save_steps to a multiple of {self.cycle}"
            )

    def settings(self) -> dict[str, int]:
        """The keyword arguments of `GRPOConfig`."""
        return {
            "num_generations": self.generations,
            "per_device_train_batch_size": self.per_device,
            "steps_per_generation": self.steps_per_generation,
            "gradient_accumulation_steps": self.micro_per_update,
            "num_iterations": self.iterations,
        }


def cycle_steps(steps_per_generation: int, iterations: int, accumulation: int) -> int:
    """Optimiser steps after which generation and updates are in step again.

    A batch is generated every ``steps_per_generation * num_iterations`` micro-steps, and weights are updated every
    ``gradient_accumulation_steps``; the cycle is their least common multiple (TRL 1.16, `GRPOTrainer._prepare_inputs`).

    Args:
        steps_per_generation: Micro-batches that one generation batch is cut into.
        iterations: Times that a generation batch is used.
        accumulation: Micro-batches of one optimiser step.
    """
    return math.lcm(steps_per_generation * iterations, accumulation) // accumulation


def cycle_of(args: Any) -> int:
    """The `cycle_steps` of a `GRPOConfig`."""
    return cycle_steps(int(args.steps_per_generation), int(args.num_iterations), int(args.gradient_accumulation_steps))


def _multiple(wanted: int, unit: int) -> int:
    """The smallest n > 0 for which n * unit is a multiple of `wanted`."""
    n = 1
    while n * unit % wanted:
        n += 1
    return n
