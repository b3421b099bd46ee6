"""The core as `rollout_func` of TRL's `GRPOTrainer`: blocks of fixed layout, both roles in one update."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from metagym.checks import whole
from metagym.errors import BadInput
from metagym_trainers.checkpoints import JsonPart
from metagym_trainers.convert import check_rows, rollout_columns
from metagym_trainers.guards import check_config
from metagym_trainers.policies import HTTPPolicy, LocalPolicy, Policy
from metagym_trainers.spade.core import Generation, SpadeCore
from metagym_trainers.spade.records import Records
from metagym_trainers.spade.rows import weighable
from metagym_trainers.spade.settings import SpadeTraining
from metagym_trainers.tracking import Tracker

T = TypeVar("T")

PROMPT = "spade"
"""Stands in the dataset for the prompts, which the rollout function writes itself."""


def slots_dataset(training: SpadeTraining, world: int = 1) -> list[dict[str, str]]:
    """The rows of the dataset for one generation batch: a place for every group, and nothing more.

    Args:
        training: The settings.
        world: Processes that train.
    """
    return [{"prompt": PROMPT}] * (training.groups * training.briefs * whole("world", world, 1))


def grpo_settings(training: SpadeTraining) -> dict[str, Any]:
    """The keyword arguments of `GRPOConfig` that follow from the settings; the rest is the recipe's.

    ``scale_rewards`` is ``none``: what crosses the border are advantages, which stand already on a mean of 0.
    ``loss_type`` is ``grpo``: rows weigh alike, so that long code does not outweigh short actions.
    """
    return {
        "num_generations": training.generations,
        "shuffle_dataset": False,
        "loss_type": "grpo",
        "scale_rewards": "none",
        "temperature": training.temperature,
        "num_iterations": 1,
    }


def check_geometry(args: Any, training: SpadeTraining) -> None:
    """Refuses a trainer whose batches do not hold the blocks.

    Args:
        args: A `GRPOConfig`.
        training: The settings.

    Raises:
        BadInput: A setting would cut a block, mix its groups, or train on other numbers than were sampled.
    """
    for name, wanted in grpo_settings(training).items():
        if (found := getattr(args, name)) != wanted:
            raise BadInput(
                f"{name} is {found!r} and must be {wanted!r} for SPADE's blocks: see grpo_settings(training)"
            )
    rows = int(args.per_device_train_batch_size) * int(args.steps_per_generation)
    if rows != training.rows:
        raise BadInput(
            f"a process generates {args.per_device_train_batch_size} * {args.steps_per_generation} = {rows} rows "
            f"(per_device_train_batch_size * steps_per_generation), and {training.briefs} briefs of "
            f"{training.generations} * (1 + {training.slots} + {training.hinted_slots}) rows are {training.rows}: set "
            f"the product to {training.rows}"
        )
    longest = max(training.config.designer_seat.max_tokens, training.config.player.seat.max_tokens)
    if args.max_completion_length < longest:
        raise BadInput(
            f"max_completion_length={args.max_completion_length} would cut answers of up to {longest} tokens, which "
            f"the seats of the config allow: set it to at least {longest}"
        )
    check_config(args, rollout=True)


class SpadeRollout:
    """A `rollout_func`; one call is one generation.

    Args:
        core: Makes the generations.
        tracker: Takes their numbers and some of their episodes; None for none.
        folder: Run folder, for `Records`; None keeps no records.
        policy: Makes the policy of a trainer; by default a `LocalPolicy`. With vLLM's server an `HTTPPolicy`.
        watch: Given every generation, e.g. to collect curves.

    Attributes:
        core: The core.
    """

    def __init__(
        self,
        core: SpadeCore,
        *,
        tracker: Tracker | None = None,
        folder: str | os.PathLike[str] | None = None,
        policy: Callable[[Any], Policy] = LocalPolicy,
        watch: Callable[[Generation], None] = lambda generation: None,
    ) -> None:
        self.core, self._tracker, self._watch = core, tracker, watch
        self._records = None if folder is None else Records(folder)
        self._make = policy
        self._policy: Policy | None = None

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """See section "rollout_func" of TRL's documentation.

        Raises:
            BadInput: The trainer's settings do not fit the blocks, or it evaluates: what is measured must not enter
                the memory that training reads.
        """
        if not trainer.model.training:
            raise BadInput("SPADE's rollout function is for training alone: evaluate with programs that are kept apart")
        policy = self.bind(trainer)
        check_rows(prompts, self.core.training.rows)
        generation = run(policy, self.core.generate())
        rows = generation.episodes
        if self._tracker is not None:
            self._tracker.observe(rows, int(trainer.state.global_step), more=generation.metrics)
        if self._records is not None and trainer.accelerator.is_main_process:
            self._records.write(generation)
        self._watch(generation)
        paid = [replace(row, reward=value) for row, value in zip(rows, generation.advantages, strict=True)]
        return rollout_columns(weighable(paid), len(prompts), group_size=self.core.training.generations)

    def part(self) -> JsonPart:
        """The state for `metagym_trainers.checkpoints.StateCallback`."""
        return JsonPart(self.core.state, self.core.restore)

    def bind(self, trainer: Any) -> Policy:
        """Seats a trainer's policy; the first batch does it otherwise.

        Raises:
            BadInput: The trainer's settings do not fit the blocks.
        """
        if self._policy is None:
            check_geometry(trainer.args, self.core.training)
            # Every filler is such a row, and TRL says so at every batch; unscored rows are counted in our own numbers.
            logging.getLogger("trl.trainer.grpo_trainer").addFilter(_says_something_else)
            self._policy = policy = self._make(trainer)
            world = int(trainer.accelerator.num_processes)
            more: dict[str, Any] = {"rank": int(trainer.accelerator.process_index), "world": world}
            if world > 1:
                from accelerate.utils import gather_object

                more["share"] = gather_object
            if isinstance(policy, LocalPolicy):
                self.core.bind(policy, policy.gather, **more)
            else:
                self.core.bind(policy, **more)
        return self._policy


def run(policy: Policy, work: Coroutine[Any, Any, T]) -> T:
    """Runs the work of a core to its end in this thread, and closes the connections that it opened.

    Args:
        policy: That the core is bound to.
        work: E.g. `SpadeCore.generate` or `SpadeCore.measure`.
    """
    if isinstance(policy, LocalPolicy):
        return policy.run(work)

    async def closing() -> T:
        try:
            return await work
        finally:
            if isinstance(policy, HTTPPolicy):
                await policy.aclose()

    return asyncio.run(closing())


def _says_something_else(record: logging.LogRecord) -> bool:
    return "All reward functions returned None" not in record.getMessage()
