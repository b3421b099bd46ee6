"""What both are paid: the challenger by the frozen solver's success rate on its questions, the solver by its answers.

The challenger's reward holds a function from questions to success rates and nothing else of the solver: no prompt, no
card and no bank is in what it logs or keeps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from metagym.errors import BadInput
from metagym.playing.runner import FATAL
from metagym.seeding import derive
from metagym.sesa.challenger import Challenge
from metagym.sesa.rounds import Paid, RewardSettings, pay
from metagym.sesa.shaping import Measured, Shape
from metagym_trainers.advantages import check_scored
from metagym_trainers.sesa.opponent import OWN
from metagym_trainers.sesa.world import Question
from metagym_trainers.tracking import Tracker, dead_share

Measure = Callable[[Sequence[Question], int], Awaitable[list[Measured]]]
"""From questions and a seed to how the frozen solver does on each."""
Vet = Callable[[Sequence[Challenge], int], Awaitable[list[Challenge]]]
"""From challenges and a seed to the same with their verdicts."""
Told = Callable[[str, int, list[float | None]], None]
"""Told of the rewards of each generation batch: role, optimiser step, one reward per row."""


def _silent(role: str, step: int, rewards: list[float | None]) -> None:
    """Nobody listens."""


class ChallengerReward:
    """An async reward function of TRL: filters first, then the bell of the success rate.

    A refused question costs the penalty, and is counted by the name of its refusal. Where search, server or judge
    failed nothing was measured: the reward is None, and the row moves no baseline.

    Args:
        vet: The world's filters.
        measure: See `Measure`.
        shape: What a success rate is worth.
        settings: Penalty, repetition, and how many rollouts must be scored.
        told: See `Told`.

    Attributes:
        seed: Root of the seeds of a phase; the driver sets it.
        verdicts: Refused, failed and dropped challenges by reason so far, and ``paid``.
    """

    __name__ = "challenger"

    def __init__(
        self, vet: Vet, measure: Measure, shape: Shape, settings: RewardSettings, told: Told = _silent
    ) -> None:
        self.vet, self.measure, self.shape, self.settings, self.told = vet, measure, shape, settings, told
        self.seed = 0
        self.verdicts: Counter[str] = Counter()

    async def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        challenge: Sequence[Challenge],
        group: Sequence[Any],
        trainer_state: Any,
        log_metric: Callable[[str, float], None] = lambda name, value: None,
        log_extra: Callable[[str, list[Any]], None] = lambda name, values: None,
        **_: Any,
    ) -> list[float | None]:
        """One reward per challenge.

        Raises:
            TooManyFailures: None could be measured: there is nothing to learn from.
            BudgetExceeded, CacheMiss, StoreError: The run as a whole cannot go on.
        """
        step = int(trainer_state.global_step)
        paid = await self._paid(list(challenge), derive(self.seed, "challenger-reward", step))
        reasons = Counter(one.reason or "paid" for one in paid)
        self.verdicts.update(reasons)
        for name, value in _shares(paid).items():
            log_metric(f"challenger/{name}", value)
        log_extra("question", [one.question or "" for one in challenge])
        log_extra("verdict", [one.reason or "paid" for one in paid])
        rewards = [one.reward for one in paid]
        dead = dead_share(rewards, list(group).count(group[0]))
        log_metric("challenger/dead_groups", 0.0 if dead is None else dead)
        self.told("challenger", step, rewards)
        check_scored(rewards)
        return rewards

    async def _paid(self, challenges: list[Challenge], seed: int) -> list[Paid]:
        try:
            vetted = await self.vet(challenges, derive(seed, "vet"))
            valid = [one for one in vetted if one.valid]
            questions = [Question(str(one.question), one.seed.answers) for one in valid]
            measured = await self.measure(questions, derive(seed, "measure")) if questions else []
            return pay(vetted, measured, self.shape, self.settings)
        except (*FATAL, BadInput):
            raise
        except OWN as error:
            return [Paid(None, reason=f"failed: {type(error).__name__}")] * len(challenges)


class SolverReward:
    """A reward function of TRL that hands on what the rollouts were paid.

    Args:
        told: See `Told`.
        tracker: Whose numbers go into TRL's log with this batch; None for none.
    """

    __name__ = "solver"

    def __init__(self, told: Told = _silent, tracker: Tracker | None = None) -> None:
        self.told, self.tracker = told, tracker

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        reward: Sequence[float | None],
        success: Sequence[bool | None],
        trainer_state: Any,
        log_metric: Callable[[str, float], None] = lambda name, value: None,
        **_: Any,
    ) -> list[float | None]:
        """One reward per attempt; None for one that nothing could score.

        Raises:
            TooManyFailures: None could be scored.
        """
        known = [bool(one) for one in success if one is not None]
        if known:
            log_metric("solver/success", sum(known) / len(known))
        if self.tracker is not None:
            self.tracker.flush(log_metric)
        rewards = list(reward)
        self.told("solver", int(trainer_state.global_step), rewards)
        check_scored(rewards)
        return rewards


def _shares(paid: Sequence[Paid]) -> dict[str, float]:
    """Figures of a batch; the names are the same on every rank."""
    rates = [one.measured.rate for one in paid if one.measured is not None and one.measured.rate is not None]
    count = len(paid)
    nothing = sum(one.reward is None for one in paid)
    return {
        "valid": len(rates) / count,
        "unscored": nothing / count,
        "refused": (count - nothing - len(rates)) / count,
        "frontier": sum(0 < rate < 1 for rate in rates) / len(rates) if rates else 0.0,
    }
