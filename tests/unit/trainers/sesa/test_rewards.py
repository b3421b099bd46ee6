"""What the challenger and the solver are paid: the bell, filters by name, and nothing where nothing was measured."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from metagym.episodes import Episode, Status
from metagym.errors import BudgetExceeded, MetaGymError, SearchError, ServerUnavailable, TooManyFailures
from metagym.sesa.challenger import Challenge
from metagym.sesa.contexts import Seed
from metagym.sesa.filters import Rejected
from metagym.sesa.rounds import RewardSettings
from metagym.sesa.shaping import Measured, load_shape, measure
from metagym.tasks import Task
from metagym_trainers.sesa.rewards import ChallengerReward, SolverReward
from metagym_trainers.sesa.world import Question

STATE = SimpleNamespace(global_step=7)


def challenge(question: str | None, failed: str = "") -> Challenge:
    episode = Episode(Task("SESA", "x"), (), "", 0.0, None, Status.OK)
    return Challenge(Seed(("Orlen",)), episode, question, None, failed)


async def vet(challenges: Sequence[Challenge], seed: int) -> list[Challenge]:
    from dataclasses import replace

    verdict = Rejected("no-question", "none")
    return [replace(one, rejected=verdict if one.question is None else None) for one in challenges]


class Solver:
    """Solves what it is told to, or fails."""

    def __init__(self, *rates: tuple[bool | None, ...], error: Exception | None = None) -> None:
        self.rates, self.error = list(rates), error
        self.asked: list[tuple[Question, ...]] = []
        self.seeds: list[int] = []

    async def measured(self, questions: Sequence[Question], seed: int) -> list[Measured]:
        self.asked.append(tuple(questions))
        self.seeds.append(seed)
        if self.error is not None:
            raise self.error
        return [measure(one) for one in self.rates]


def paid(solver: Solver, challenges: list[Challenge], shape: str = "quadratic", **settings: Any) -> tuple[Any, ...]:
    logged: dict[str, float] = {}
    extra: dict[str, list[Any]] = {}
    told: list[Any] = []
    reward = ChallengerReward(
        vet, solver.measured, load_shape(shape), RewardSettings(**settings), lambda *record: told.append(record)
    )
    made = reward(
        prompts=challenges,
        completions=challenges,
        challenge=challenges,
        group=[("a",)] * len(challenges),
        trainer_state=STATE,
        log_metric=logged.__setitem__,
        log_extra=extra.__setitem__,
        answers=["secret"] * len(challenges),
    )
    return asyncio.run(made), logged, extra, told, reward


def test_the_bell_pays_the_middle_and_neither_end() -> None:
    rates = [(True, False), (True, True), (False, False), (True, False, False, False)]
    rewards, logged, extra, told, _ = paid(Solver(*rates), [challenge(f"question {at}") for at in range(4)])
    assert rewards == [1.0, 0.0, 0.0, 0.75]
    assert logged["challenger/frontier"] == 0.5 and logged["challenger/valid"] == 1.0
    assert told == [("challenger", 7, rewards)]
    assert extra["verdict"] == ["paid"] * 4 and extra["question"][1] == "question 1"


def test_ssp_pays_what_nobody_solves() -> None:
    rewards, *_ = paid(Solver((True, False), (False, False)), [challenge("a"), challenge("b")], "one_minus_acc")
    assert rewards == [0.5, 1.0]


def test_refused_questions_cost_the_penalty_and_are_counted_by_name() -> None:
    solver = Solver((True, False))
    rewards, logged, _, _, reward = paid(solver, [challenge(None), challenge("a"), challenge(None)], penalty=-0.25)
    assert rewards == [-0.25, 1.0, -0.25]
    assert reward.verdicts == {"no-question": 2, "paid": 1} and logged["challenger/refused"] == pytest.approx(2 / 3)
    assert [one.text for one in solver.asked[0]] == ["a"], "what is refused is never played"


def test_a_challenge_that_failed_and_a_question_that_was_not_measured_get_none_and_not_zero() -> None:
    solver = Solver((True, None, None), (True, False))
    rewards, logged, _, _, reward = paid(
        solver, [challenge(None, "the search is down"), challenge("a"), challenge("b")]
    )
    assert rewards == [None, None, 1.0]
    assert reward.verdicts == {"failed": 1, "dropped": 1, "paid": 1}
    assert logged["challenger/unscored"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("error", [ServerUnavailable("down"), SearchError("down"), TimeoutError(), OSError("reset")])
def test_an_infrastructure_failure_pays_nobody_and_an_all_unscored_batch_stops_the_training(error: Exception) -> None:
    solver = Solver(error=error)
    reward = ChallengerReward(vet, solver.measured, load_shape("quadratic"), RewardSettings())
    with pytest.raises(TooManyFailures, match="none of the 2 rows"):
        asyncio.run(reward([], [], challenge=[challenge("a"), challenge("b")], group=[(), ()], trainer_state=STATE))
    assert sum(count for name, count in reward.verdicts.items() if name.startswith("failed")) == 2


@pytest.mark.parametrize("error", [BudgetExceeded("spent"), ZeroDivisionError()])
def test_what_ends_the_run_or_is_a_mistake_of_the_program_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)):
        paid(Solver(error=error), [challenge("a")])


def test_filters_that_fail_let_nothing_through() -> None:
    async def down(challenges: Sequence[Challenge], seed: int) -> list[Challenge]:
        raise ServerUnavailable("the verifier is down")

    solver = Solver((True, False))
    reward = ChallengerReward(down, solver.measured, load_shape("quadratic"), RewardSettings())
    with pytest.raises(TooManyFailures):
        asyncio.run(reward([], [], challenge=[challenge("a")], group=[()], trainer_state=STATE))
    assert not solver.asked


def test_equal_seeds_measure_under_equal_noise_and_other_steps_under_other() -> None:
    solver = Solver((True, False))
    for step in (1, 1, 2):
        reward = ChallengerReward(vet, solver.measured, load_shape("quadratic"), RewardSettings())
        state = SimpleNamespace(global_step=step)
        asyncio.run(reward([], [], challenge=[challenge("a")], group=[()], trainer_state=state))
    first, second, third = solver.seeds
    assert first == second != third


def test_repetition_is_paid_less() -> None:
    same = [challenge("which town lies on the river vash"), challenge("which town lies on the river vash")]
    rewards, *_ = paid(Solver((True, False), (True, False)), same, repetition=0.5)
    assert rewards == [0.5, 0.5]


def solver_reward(rewards: list[float | None], success: list[bool | None]) -> tuple[Any, dict[str, float]]:
    logged: dict[str, float] = {}
    made = SolverReward()(
        [], rewards, reward=rewards, success=success, trainer_state=STATE, log_metric=logged.__setitem__
    )
    return made, logged


def test_the_solver_s_rewards_are_those_of_its_rollouts() -> None:
    made, logged = solver_reward([1.0, None, 0.1], [True, None, False])
    assert made == [1.0, None, 0.1] and logged["solver/success"] == 0.5


def test_a_solver_s_batch_that_nothing_could_score_is_not_trained_on() -> None:
    with pytest.raises(MetaGymError, match="none of the 2 rows"):
        solver_reward([None, None], [None, None])
