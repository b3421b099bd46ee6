"""What TRL calls for new rows: the challenger's challenges and the solver's attempts, as ids with masks.

TRL hands a rollout function prompts alone, so that each row carries its id in its message; the driver loads what
belongs to the ids before it trains. What searches and cards say stands in prompts and under mask 0: it is read and
never trained on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from metagym.errors import BadInput
from metagym.seeding import derive
from metagym.sesa.challenger import Challenge
from metagym.sesa.contexts import Seed
from metagym_trainers.convert import rollout_columns
from metagym_trainers.episodes import TokenEpisode, filler
from metagym_trainers.policies import LocalPolicy, Policy
from metagym_trainers.sesa.opponent import failed, gathered
from metagym_trainers.sesa.world import Answered, Asked, Question, World
from metagym_trainers.tracking import Tracker

T = TypeVar("T")

ROW = "row"
"""Key of a message that holds the row's id; chat templates do not see it."""


@dataclass(frozen=True)
class Row:
    """A row of a dataset: what the model reads, and what it is about.

    Attributes:
        id: Unique in its round.
        prompt: The first message.
        subject: A `Seed` for a challenger, a `Question` for a solver.
    """

    id: str
    prompt: str
    subject: Any

    @property
    def record(self) -> dict[str, Any]:
        """The row as TRL's dataset holds it: a message and nothing else, neither answers nor cards beside it."""
        return {"prompt": [{"role": "user", "content": self.prompt, ROW: self.id}]}


class _Rollout:
    """What both have in common.

    Args:
        world: What is played.
        policy: Who samples; None takes the model inside the trainer that calls.
        concurrency: Episodes at once; None for all.
        tracker: Told of every batch, and keeps some of its episodes; None for none.

    Attributes:
        calls: How often TRL has called; the driver refuses a training in which it never did.
    """

    role = ""

    def __init__(
        self,
        world: World,
        policy: Policy | None = None,
        concurrency: int | None = None,
        tracker: Tracker | None = None,
    ) -> None:
        self.world, self.policy, self.concurrency, self.tracker = world, policy, concurrency, tracker
        self.calls = 0
        self.rows: Mapping[str, Row] = {}
        self.seed = 0

    def load(self, rows: Sequence[Row], seed: int) -> None:
        """Takes the rows of a phase, and the root of its seeds."""
        self.rows, self.seed = {row.id: row for row in rows}, seed

    def serve(self, trainer: Any) -> Policy:
        """Who samples: the policy that was handed in, else the model inside the trainer."""
        if self.policy is None:
            self.policy = LocalPolicy(trainer)
        return self.policy

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """TRL's ``rollout_func``.

        Raises:
            BadInput: A prompt is none of the rows that were loaded.
        """
        self.calls += 1
        policy = self.serve(trainer)
        rows = [self._row(prompt) for prompt in prompts]
        step, each = trainer.state.global_step, trainer.num_generations
        jobs = [self._job(row, policy, derive(self.seed, row.id, step, at)) for at, row in enumerate(rows)]
        played = run(policy, gathered(policy, jobs, self.concurrency))
        end = int(trainer.eos_token_ids[0])
        # A group is a block of rows of one prompt at one step: a row may come again, and never shares a baseline then.
        groups = [(row.id, step, at // each) for at, row in enumerate(rows)]
        episodes = _even(
            [
                filler(end, role=self.role, group=group)
                if isinstance(one, Exception)
                else replace(one.tokens, group=group, role=self.role)
                for one, group in zip(played, groups, strict=True)
            ]
        )
        if self.tracker is not None:
            self.tracker.observe(episodes, step)
        columns = rollout_columns(episodes, len(prompts), group_size=each)
        return columns | self._extra(rows, played)

    def _row(self, prompt: Any) -> Row:
        named = isinstance(prompt, list) and prompt and isinstance(prompt[0], Mapping)
        name = str(prompt[0].get(ROW)) if named else ""
        if name not in self.rows:
            raise BadInput(
                f"the trainer asks for the row {name!r}, which is none of the {len(self.rows)} of this phase: train "
                "with the dataset of the driver, and with remove_unused_columns=False"
            )
        return self.rows[name]

    def _job(self, row: Row, policy: Policy, seed: int) -> Any:
        raise NotImplementedError

    def _extra(self, rows: Sequence[Row], played: Sequence[Any]) -> dict[str, Any]:
        raise NotImplementedError


class ChallengerRollout(_Rollout):
    """Challenges; the column ``challenge`` holds each as a `Challenge` for the reward."""

    role = "challenger"

    def _job(self, row: Row, policy: Policy, seed: int) -> Any:
        return self.world.ask(row.subject, row.prompt, policy, seed)

    def _extra(self, rows: Sequence[Row], played: Sequence[Asked | Exception]) -> dict[str, Any]:
        return {
            "challenge": [
                _unasked(row.subject, one) if isinstance(one, Exception) else one.challenge
                for row, one in zip(rows, played, strict=True)
            ]
        }


class SolverRollout(_Rollout):
    """Attempts; the column ``reward`` holds what each is paid, and ``success`` whether it succeeded."""

    role = "solver"

    def _job(self, row: Row, policy: Policy, seed: int) -> Any:
        question: Question = row.subject
        return self.world.answer(question, row.prompt, policy, seed)

    def _extra(self, rows: Sequence[Row], played: Sequence[Answered | Exception]) -> dict[str, Any]:
        return {"success": [None if isinstance(one, Exception) else one.episode.success for one in played]}


def _unasked(start: Seed, error: Exception) -> Challenge:
    episode = failed(error)
    return Challenge(start, episode, None, None, episode.cause)


def _even(episodes: list[TokenEpisode]) -> list[TokenEpisode]:
    """The same with log-probabilities in all rows or in none: rows that nobody sampled follow the others."""
    if any(one.logprobs is not None for one in episodes if any(one.mask)):
        return episodes
    return [one if any(one.mask) else replace(one, logprobs=None) for one in episodes]


def run(policy: Policy, coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that samples from a policy to its end, in this thread."""
    return policy.run(coroutine) if isinstance(policy, LocalPolicy) else asyncio.run(coroutine)
