"""The frozen solver: rollouts of questions by a policy that is not being trained at the moment.

In one process the policy is the other trainer's model, sampled under a seed of its own, so that its noise neither moves
nor follows the training's; on GPUs it is the solver's own server, by URL. Nothing here writes anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from metagym.episodes import Episode, Status
from metagym.errors import BadInput, MetaGymError
from metagym.playing.runner import FATAL
from metagym.seeding import derive
from metagym.sesa.cards import question_sha256
from metagym.sesa.deploy import Blocks
from metagym.sesa.retrieval import SkillBlock, SkillRetriever
from metagym.sesa.rollouts import FAMILY
from metagym.sesa.rounds import Attempt
from metagym.sesa.shaping import Measured, measure
from metagym.tasks import Task
from metagym_trainers.policies import LocalPolicy, Policy
from metagym_trainers.sesa.world import Answered, Question, World

T = TypeVar("T")

OWN = (MetaGymError, OSError, TimeoutError)
"""Failures that end one episode: a server, a search, a judge, a deadline."""

NO_CARDS = SkillRetriever(None)
"""Finds nothing: a solver without a bank."""


class FrozenSolver:
    """Measures questions by a solver that stands still.

    Args:
        world: What is played.
        policy: The solver's policy.
        rollouts: Rollouts per question.
        min_valid: Scored rollouts below which a question has no success rate.
        concurrency: Episodes at once; None for all.
        noise: Makes the context in which rollouts are sampled, from a seed: for a model in this process one that sets
            torch's generator and puts it back.

    Attributes:
        blocks: What retrieves the cards; the driver sets it when the bank has changed.
    """

    def __init__(
        self,
        world: World,
        policy: Policy,
        *,
        rollouts: int,
        min_valid: int,
        concurrency: int | None = None,
        noise: Callable[[int], AbstractContextManager[Any]] | None = None,
    ) -> None:
        self.world, self.policy, self.rollouts, self.min_valid = world, policy, rollouts, min_valid
        self.concurrency = concurrency
        self.noise = noise or (lambda seed: nullcontext())
        self.blocks: Blocks = NO_CARDS

    async def attempts(self, questions: Sequence[Question], seed: int) -> list[Attempt]:
        """Plays each question some times; what failed is unscored.

        Args:
            questions: What is asked; equal ones get different seeds.
            seed: Root of all seeds.

        Raises:
            BudgetExceeded, CacheMiss, StoreError: No episode could go on.
        """
        skills = [self.blocks.block(question.text) for question in questions]
        jobs = [
            self._job(question, block, number, time, seed)
            for number, (question, block) in enumerate(zip(questions, skills, strict=True))
            for time in range(self.rollouts)
        ]
        with self.noise(derive(seed, "noise")):
            played = await gathered(self.policy, jobs, self.concurrency)
        episodes = [
            found.episode if isinstance(found, Answered) else failed(found) for found in played
        ]  # a rollout that raised is unscored: the search or the server failed, not the solver
        each = self.rollouts
        return [
            Attempt(question.text, question.answers, tuple(episodes[at * each : (at + 1) * each]), (), block)
            for at, (question, block) in enumerate(zip(questions, skills, strict=True))
        ]

    async def measured(self, questions: Sequence[Question], seed: int) -> list[Measured]:
        """The success rate of each question and nothing else: what may be told to the challenger.

        Raises:
            BudgetExceeded, CacheMiss, StoreError: No episode could go on.
        """
        return [measure(one.outcomes, self.min_valid) for one in await self.attempts(questions, seed)]

    def _job(
        self, question: Question, block: SkillBlock, number: int, time: int, seed: int
    ) -> Coroutine[Any, Any, Answered]:
        prompt = self.world.solver_prompt(question.text, block)
        own = derive(seed, "rollout", question_sha256(question.text), number, time)
        return self.world.answer(question, prompt, self.policy, own)


def failed(error: Exception) -> Episode:
    """An unscored episode in the place of one that raised."""
    cause = f"{type(error).__name__}: {error}"
    return Episode(Task(FAMILY, "failed"), (), "", 0.0, None, Status.ERROR, cause)


async def gathered(
    policy: Policy, jobs: Iterable[Coroutine[Any, Any, T]], concurrency: int | None = None
) -> list[T | Exception]:
    """Runs jobs at once; where one of them meets a failure that is its own, that is its result.

    A mistake in the program is no failure of an episode, and is raised like what ends them all.

    Args:
        policy: Who they sample from: a `LocalPolicy` serves all that wait together.
        jobs: One coroutine per episode.
        concurrency: Jobs at once; None for all.

    Raises:
        BudgetExceeded, CacheMiss, StoreError, BadInput: A job met what ends them all.
    """
    if isinstance(policy, LocalPolicy):
        done: Sequence[T | BaseException] = await policy.gather(jobs, concurrency=concurrency)
    else:
        made = list(jobs)
        gate = asyncio.Semaphore(concurrency or len(made) or 1)

        async def gated(job: Coroutine[Any, Any, T]) -> T:
            async with gate:
                return await job

        done = await asyncio.gather(*map(gated, made), return_exceptions=True)
    out: list[T | Exception] = []
    for one in done:
        if isinstance(one, BaseException) and (isinstance(one, (*FATAL, BadInput)) or not isinstance(one, OWN)):
            raise one
        out.append(one)
    return out
