"""Phases: a trainer goes on from its last checkpoint for some steps, saves, and stops.

TRL's second `train()` would start again at step 0, with the first learning rate and the first rows. Here each phase is
one epoch over rows of its own and begins from the checkpoint that the last one ended with: steps, schedule, optimiser
and noise go on, and a run that was killed finds on disk what an uninterrupted one has in memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import TrainerCallback, set_seed

from metagym.errors import BadInput, RunError
from metagym.seeding import derive
from metagym_trainers.geometry import cycle_of
from metagym_trainers.sesa.rollouts import Row

_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
_WHOLE = ("optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json")
"""What a checkpoint must hold beside the weights: transformers goes on without a word where one is gone, and
``trainer_state.json`` is what it writes last."""


class StopAt(TrainerCallback):
    """Saves and stops a trainer at a step.

    Attributes:
        step: The step; 0 for none.
    """

    def __init__(self) -> None:
        self.step = 0

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by the trainer after every optimiser step."""
        if self.step and state.global_step >= self.step:
            control.should_save = control.should_training_stop = True


class Phases:
    """The phases of one trainer.

    Args:
        trainer: A `trl.GRPOTrainer` whose ``max_steps`` covers all rounds.
        steps: Optimiser steps of a phase.
        name: Of its seat, for messages and seeds.
        seed: Of the first phase's noise; later ones go on from the checkpoint.

    Raises:
        BadInput: The steps cut a generation batch, the arguments save too rarely or keep rows back.
    """

    def __init__(self, trainer: Any, steps: int, name: str, seed: int) -> None:
        self.trainer, self.steps, self.name, self.seed = trainer, steps, name, seed
        self.stop = StopAt()
        trainer.add_callback(self.stop)
        args = trainer.args
        self.cycle = cycle_of(args)
        if args.steps_per_generation * args.num_iterations % args.gradient_accumulation_steps or steps % self.cycle:
            raise BadInput(
                f"a phase of {steps} steps of the {name} cuts a generation batch, which lasts {self.cycle} steps: take "
                f"a multiple of it ({name}_steps)"
            )
        if args.remove_unused_columns or args.ignore_data_skip or trainer.shuffle_dataset:
            raise BadInput(
                f"the {name} needs remove_unused_columns=False, ignore_data_skip=False and shuffle_dataset=False: the "
                "driver orders the rows, and a resumed phase goes on at its place among them"
            )

    @property
    def groups(self) -> int:
        """Prompts of one phase: one per group."""
        args = self.trainer.args
        return (args.generation_batch_size // args.num_generations) * (self.steps // self.cycle)

    @property
    def folder(self) -> Path:
        """Where its checkpoints are."""
        return Path(self.trainer.args.output_dir)

    def checkpoint(self, step: int) -> Path:
        """Folder of the checkpoint of a step."""
        return self.folder / f"checkpoint-{step}"

    def latest(self, least: int, most: int) -> Path | None:
        """The newest complete checkpoint among some steps; None where there is none."""
        found = [
            (int(match[1]), path)
            for path in self.folder.glob("checkpoint-*")
            if (match := _CHECKPOINT.fullmatch(path.name)) and all((path / name).is_file() for name in _WHOLE)
        ]
        return max(((step, path) for step, path in found if least <= step <= most), default=(0, None))[1]

    def run(self, number: int, rows: Sequence[Row]) -> Path:
        """Trains phase `number` on rows, from where the last one ended, or from where a killed one came to.

        Args:
            number: The phase, from 0.
            rows: `groups` rows, in the order in which they are trained.

        Returns:
            The checkpoint at its end.

        Raises:
            BadInput: Another number of rows.
            RunError: The checkpoint of the last phase is gone, or the trainer ended at another step.
        """
        if len(rows) != self.groups:
            raise BadInput(f"a phase of the {self.name} trains on {self.groups} rows, got {len(rows)}")
        start, end = number * self.steps, (number + 1) * self.steps
        begin = self.latest(start, end)
        if start and begin is None:
            raise RunError(
                f"{self.checkpoint(start)} is gone or lacks one of {', '.join(_WHOLE)}: the {self.name} cannot go on "
                f"from phase {number - 1}; put it back from a copy, or start in a new folder"
            )
        if begin == self.checkpoint(end):  # killed after it was saved, and before that was noted
            load_weights(self.trainer, begin)
        else:
            self.trainer.train_dataset = Dataset.from_list([row.record for row in rows])
            self.stop.step = end
            set_seed(derive(self.seed, "phase", self.name) % 2**32)  # of the first phase; then the checkpoint's is read
            self.trainer.train(resume_from_checkpoint=None if begin is None else str(begin))
            if (found := self.trainer.state.global_step) != end:
                raise RunError(f"the {self.name} ended phase {number} at step {found}, not {end}")
        return self.checkpoint(end)


def load_weights(trainer: Any, folder: Path) -> None:
    """Puts the weights of a checkpoint into a trainer's model: all of them, or the adapter's alone.

    Raises:
        RunError: The folder holds no weights that fit the model.
    """
    from safetensors.torch import load_file
    from transformers.utils import is_peft_available

    model = trainer.accelerator.unwrap_model(trainer.model)
    if is_peft_available():
        from peft import PeftModel, load_peft_weights, set_peft_model_state_dict

        if isinstance(model, PeftModel):
            set_peft_model_state_dict(model, load_peft_weights(str(folder)))
            return
    parts = sorted(folder.glob("model*.safetensors"))
    state = {name: tensor for part in parts for name, tensor in load_file(part).items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    tied = set(getattr(model, "all_tied_weights_keys", None) or ())
    if not parts or unexpected or set(missing) - tied:
        raise RunError(f"{folder} holds no weights of this model ({len(missing)} missing, {len(unexpected)} unknown)")
