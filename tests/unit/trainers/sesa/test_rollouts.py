"""Rows of both seats: who is asked, what is trained on, and what becomes of an episode that fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from metagym.errors import BadInput, BudgetExceeded, ServerUnavailable
from metagym.sesa.contexts import Seed
from metagym.sesa.retrieval import SkillBlock
from metagym_trainers.policies import Sample
from metagym_trainers.sesa.opponent import FrozenSolver
from metagym_trainers.sesa.rollouts import ROW, ChallengerRollout, Row, SolverRollout
from metagym_trainers.sesa.world import Question
from metagym_trainers.tiny.models import word_tokenizer
from metagym_trainers.tiny.relations import VOCABULARY, held_out_questions
from tests.unit.trainers.sesa.easy import EasyWorld

TRAINER = SimpleNamespace(state=SimpleNamespace(global_step=3), num_generations=2, eos_token_ids=[3])


class Policy:
    """Says ``r1 r2`` and fails at the calls that it is told to."""

    temperature = 1.0

    def __init__(self, world: EasyWorld, fails: Sequence[int] = (), error: Exception | None = None) -> None:
        self.ids = tuple(world.tokenizer("r1 r2 <|im_end|>", add_special_tokens=False)["input_ids"])
        self.fails, self.error = fails, error or ServerUnavailable("down")
        self.seeds: list[int] = []

    async def sample(self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int) -> Sample:
        self.seeds.append(seed)
        if len(self.seeds) - 1 in self.fails:
            raise self.error
        return Sample(self.ids, (-0.5,) * len(self.ids), False)


@pytest.fixture(scope="module")
def world() -> EasyWorld:
    return EasyWorld(word_tokenizer(VOCABULARY), held_out_questions(3))


def rows(world: EasyWorld) -> list[Row]:
    questions = [replace(one, id=f"q{at}") for at, one in enumerate(world.held_out)]
    return [Row(one.id, world.solver_prompt(one.text, SkillBlock()), one) for one in questions]


def prompts(given: Sequence[Row], each: int = 2) -> list[Any]:
    return [row.record["prompt"] for row in given for _ in range(each)]


def test_each_prompt_gets_a_row_of_its_own_in_its_group(world: EasyWorld) -> None:
    policy, given = Policy(world), rows(world)
    rollout = SolverRollout(world, policy)
    rollout.load(given, 5)
    columns = rollout(prompts(given), TRAINER)
    assert len(columns["completion_ids"]) == 6 and columns["env_mask"] == [[1, 1, 1]] * 6
    assert [group[0] for group in columns["group"]] == ["q0", "q0", "q1", "q1", "q2", "q2"]
    assert len(set(policy.seeds)) == 6, "each rollout has noise of its own"
    again = Policy(world)
    other = SolverRollout(world, again)
    other.load(given, 5)
    other(prompts(given), TRAINER)
    assert again.seeds == policy.seeds


def test_trl_issue_12_the_row_s_id_travels_in_the_message_and_is_not_read_by_the_model(world: EasyWorld) -> None:
    given = rows(world)
    assert given[0].record == {"prompt": [{"role": "user", "content": given[0].prompt, ROW: "q0"}]}
    columns = SolverRollout(world, Policy(world))
    columns.load(given, 0)
    made = columns(prompts(given[:1]), TRAINER)
    bare = world.tokenizer.apply_chat_template(
        [{"role": "user", "content": given[0].prompt}], add_generation_prompt=True, tokenize=True, return_dict=False
    )
    assert made["prompt_ids"] == [bare, bare]


def test_a_row_of_another_phase_is_refused(world: EasyWorld) -> None:
    given = rows(world)
    rollout = SolverRollout(world, Policy(world))
    rollout.load(given[:1], 0)
    with pytest.raises(BadInput, match="'q1'.*none of the 1"):
        rollout(prompts(given), TRAINER)


def test_an_episode_that_fails_is_an_empty_row_without_a_reward(world: EasyWorld) -> None:
    given = rows(world)
    rollout = SolverRollout(world, Policy(world, fails=[1]))
    rollout.load(given, 0)
    columns = rollout(prompts(given), TRAINER)
    assert columns["reward"].count(None) == 1 and columns["reward"][1] is None and columns["success"][1] is None
    assert columns["env_mask"][1] == [0]


@pytest.mark.parametrize("error", [BudgetExceeded("spent"), TypeError("a mistake of the program")])
def test_what_is_no_failure_of_one_episode_is_raised(world: EasyWorld, error: Exception) -> None:
    given = rows(world)
    rollout = SolverRollout(world, Policy(world, fails=[0], error=error))
    rollout.load(given, 0)
    with pytest.raises(type(error)):
        rollout(prompts(given), TRAINER)


def test_a_challenger_that_could_not_ask_is_failed_and_not_refused(world: EasyWorld) -> None:
    given = [Row("c0", "write h2 go", Seed(("nothing",), 2))]
    rollout = ChallengerRollout(world, Policy(world, fails=[0]))
    rollout.load(given, 0)
    first, second = rollout(prompts(given), TRAINER)["challenge"]
    assert first.failed.startswith("ServerUnavailable") and first.rejected is None and not first.valid
    assert second.question is not None and not second.failed


def test_the_frozen_solver_leaves_failed_rollouts_out_of_its_rate(world: EasyWorld) -> None:
    import asyncio

    solver = FrozenSolver(world, Policy(world, fails=[0, 5]), rollouts=4, min_valid=4)
    questions = [Question(one.text, one.answers) for one in world.held_out]
    measured = asyncio.run(solver.measured(questions, 0))
    assert [(one.rate is None, one.scored, one.unscored) for one in measured] == [
        (True, 3, 1), (True, 3, 1), (False, 4, 0),
    ]  # fmt: skip
