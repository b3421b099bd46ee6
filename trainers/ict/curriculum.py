"""Fresh rows for every round of a training, made when the round begins by whoever writes prompts then.

Rows that were collected once show batches under prompts that the policy has long outgrown. Here the dataset makes its
rows itself: row ``n`` belongs to round ``n // rows_per_round``, and a round is played when its first row is asked for,
with the policy as it is at that moment or with a base reflector. Trainers read one batch ahead, so that a round begins
one generation batch before the last one of the round before it has been trained on.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from metagym.chat import aclose
from metagym.chat.types import Backend, ChatModel, Reply, Request
from metagym.checks import whole
from metagym.errors import BadInput
from metagym.extras import require
from metagym.ict.collect import collect
from metagym.ict.config import RunConfig
from metagym.ict.loop import Seats, memory_records
from metagym.playing import sync
from metagym.seeding import derive, rng
from metagym_trainers.ict.rows import training_rows
from metagym_trainers.sampling import own_noise

if TYPE_CHECKING:
    from datasets import Dataset

    from metagym_trainers.checkpoints import JsonPart
    from metagym_trainers.policies import LocalPolicy

Row = Mapping[str, Any]
KEPT_ROUNDS = 2
"""Rounds whose rows are kept: the present one and the one that is read ahead."""


class PolicyReflector:
    """The policy in training on the reflector's seat, as a `metagym.chat.ChatModel`.

    Args:
        policy: Who samples, e.g. ``LocalPolicy(trainer)``.
        tokenizer: The policy's.
    """

    def __init__(self, policy: LocalPolicy, tokenizer: Any) -> None:
        from metagym_trainers.recording import Template

        self.policy, self._template = policy, Template(tokenizer)

    @property
    def id(self) -> str:
        """It has no lasting name: its weights change from step to step."""
        return "policy:reflector"

    @property
    def backend(self) -> Backend:
        """A model in training."""
        return "local"

    async def chat(self, request: Request) -> Reply:
        """Answers one request; see `metagym_trainers.recording.Recorder.chat` for its errors."""
        from metagym_trainers.recording import Recorder

        return await Recorder(self.policy, self._template, name="reflector").chat(request)


class Curriculum:
    """A dataset that makes fresh rows each round.

    Give `part` to the trainer's `StateCallback`: the rows of the present rounds are saved in its checkpoints, so that a
    resumed training sees the rows of an uninterrupted one and plays nothing twice. The trainer must take rows in order
    (``shuffle_dataset=False``; the rows of a round are shuffled here) and read them itself (no workers): see `check`.

    Args:
        config: Settings of each meta-episode; the seeds of rounds are derived from its own.
        actor: The frozen actor.
        reflector: Who writes prompts in the rounds; None until the trainer that holds the policy is there: set
            `reflector` to a `PolicyReflector` then. A vLLM server that TRL keeps in step serves as ``openai:...`` too.
        rounds: Number of rounds; >= 1.
        meta_episodes: Meta-episodes per round, played at once; each gives ``config.meta_turns`` rows.
        share: Hands the main process's rows to all processes, e.g. by ``accelerate.utils.broadcast_object_list``; takes
            None in the others. They then play nothing.
        main: Whether this is the main process.

    Attributes:
        rows_per_round: Rows of one round.
        made: Rounds that were played here so far, restored ones not counted.
    """

    def __init__(
        self,
        config: RunConfig,
        actor: ChatModel,
        reflector: ChatModel | None = None,
        *,
        rounds: int,
        meta_episodes: int,
        share: Callable[[list[Row] | None], list[Row]] | None = None,
        main: bool = True,
    ) -> None:
        self.config, self.actor, self.reflector = config, actor, reflector
        self.rounds = whole("rounds", rounds, 1)
        self.meta_episodes = whole("meta_episodes", meta_episodes, 1)
        self.rows_per_round = self.meta_episodes * whole("meta_turns of a curriculum", config.meta_turns, 1)
        self.made = 0
        self._share, self._main = share, main
        self._rows: dict[int, list[Row]] = {}

    def dataset(self) -> Dataset:
        """The dataset for `GRPOTrainer`; nothing is played before a row is read.

        Raises:
            MissingExtra: datasets is not installed.
        """
        data: Dataset = require("datasets", "trl").Dataset.from_dict(
            {"row": list(range(self.rounds * self.rows_per_round))}
        )
        data.set_transform(self._fetch)
        return data

    def _fetch(self, batch: Mapping[str, Sequence[int]]) -> dict[str, list[Any]]:
        rows = [self.round(n // self.rows_per_round)[n % self.rows_per_round] for n in batch["row"]]
        return {name: [row[name] for row in rows] for name in ("prompt", "id", "replay")}

    def check(self, args: Any) -> None:
        """Looks whether a `GRPOConfig` reads the rows in the order in which they are made.

        Raises:
            BadInput: It shuffles, reads by workers, its generation batches do not fit into a round, or its steps would
                come to the end of the last round and begin again with the first.
        """
        if args.shuffle_dataset or args.dataloader_num_workers:
            raise BadInput(
                "a curriculum makes its rows in order: set shuffle_dataset=False and dataloader_num_workers=0 "
                "(the rows of a round are shuffled already)"
            )
        groups = args.generation_batch_size // args.num_generations
        if self.rows_per_round % groups:
            raise BadInput(
                f"a round of {self.rows_per_round} rows is no whole number of generation batches of {groups} prompts: "
                f"set meta_episodes so that meta_episodes x {self.config.meta_turns} is a multiple of {groups}"
            )
        micro = args.max_steps * args.gradient_accumulation_steps
        wanted = math.ceil(micro / (args.steps_per_generation * args.num_iterations)) * groups
        if args.max_steps < 1 or wanted > self.rounds * self.rows_per_round:
            least = math.ceil(max(wanted, 1) / self.rows_per_round)
            raise BadInput(
                f"{self.rounds} rounds of {self.rows_per_round} rows do not last for max_steps={args.max_steps}, which "
                f"reads {max(wanted, 0)} rows: set max_steps, and at least {least} rounds"
            )

    def round(self, number: int) -> list[Row]:
        """The rows of a round in the order of training, made now if they are not there.

        Args:
            number: From 0.

        Raises:
            BadInput: There is no such round, or nobody who writes prompts.
        """
        if not 0 <= number < self.rounds:
            raise BadInput(f"the curriculum has the rounds 0 to {self.rounds - 1}, got {number}")
        if number not in self._rows:
            rows = self._make(number) if self._main else None
            self._rows[number] = rows if self._share is None else self._share(rows)  # type: ignore[assignment]
            for old in list(self._rows)[:-KEPT_ROUNDS]:
                del self._rows[old]
        return self._rows[number]

    def _make(self, number: int) -> list[Row]:
        if self.reflector is None:
            raise BadInput(
                "the curriculum has no reflector yet: set curriculum.reflector to a PolicyReflector of the trainer, or "
                "give it a base reflector"
            )
        policy = self.reflector.policy if isinstance(self.reflector, PolicyReflector) else None
        config, gather, run = self.config, asyncio.gather, sync.run
        if policy is not None:  # sampled in this thread, at the temperature that it is trained at
            seat = replace(config.reflector_seat, temperature=policy.temperature)
            config, run = replace(config, reflector_seat=seat), policy.run
        seats = Seats(self.actor, self.reflector)

        async def play() -> list[Any]:
            episodes = [
                collect(replace(config, seed=derive(config.seed, "round", number, at)), 1, seats, memory_records())
                for at in range(self.meta_episodes)
            ]
            try:
                if policy is not None:
                    return await policy.gather(episodes)
                return list(await gather(*episodes))
            finally:  # connections belong to the loop, which may end here
                for model in (self.actor, self.reflector):
                    await aclose(model)  # type: ignore[arg-type]

        # A resumed trainer restores its generators only after it has read its first batches: a round that took its
        # noise from there would differ.
        with own_noise(derive(self.config.seed, "round-noise", number)) if policy is not None else nullcontext():
            found = run(play())
        for result in found:
            if isinstance(result, Exception):
                raise result
        rows: list[Row] = list(training_rows([row for result in found for row in result]))
        rng(self.config.seed, "round-order", number).shuffle(rows)
        self.made += 1
        return rows

    def state(self) -> dict[str, Any]:
        """The cursor as JSON: the rounds that are under way, with their rows."""
        return {"seed": self.config.seed, "rounds": {str(number): rows for number, rows in self._rows.items()}}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on where `state` was taken.

        Raises:
            BadInput: The state belongs to another seed.
        """
        if state["seed"] != self.config.seed:
            raise BadInput(f"the saved curriculum has seed {state['seed']}, this one {self.config.seed}")
        self._rows = {int(number): list(rows) for number, rows in state["rounds"].items()}

    def part(self) -> JsonPart:
        """The cursor as a part of a `metagym_trainers.StateCallback`."""
        from metagym_trainers.checkpoints import JsonPart

        return JsonPart(self.state, self.restore)
