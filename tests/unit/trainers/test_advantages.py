"""Advantages of rows: by role and group, and never from what was not scored."""

from __future__ import annotations

import math

import pytest

from metagym.errors import BadInput, TooManyFailures
from metagym_trainers.advantages import token_advantages
from metagym_trainers.episodes import TokenEpisode


def rows(
    rewards: list[float | None], group: tuple[str | int, ...] = ("t", 1), role: str = "agent"
) -> list[TokenEpisode]:
    return [TokenEpisode((1,), (2,), (1,), None, reward, group, role) for reward in rewards]


def test_s13_equal_prompts_of_two_tasks_are_two_groups() -> None:
    batch = rows([0.0] * 4, ("task", 1, 0)) + rows([1.0] * 4, ("task", 2, 0))
    assert {episode.prompt_ids for episode in batch} == {(1,)}
    assert token_advantages(batch) == (0.0,) * 8


def test_s13_a_task_that_comes_twice_in_a_batch_stays_apart() -> None:
    batch = rows([0.0, 0.0], ("task", 1, 0)) + rows([1.0, 1.0], ("task", 1, 1))
    assert token_advantages(batch) == (0.0,) * 4


def test_s15_the_unscored_get_nothing_and_move_nothing() -> None:
    assert token_advantages(rows([1.0, None, 1.0, math.nan])) == (0.0, None, 0.0, None)


def test_s15_a_batch_without_any_score_is_an_error() -> None:
    with pytest.raises(TooManyFailures, match="none of the 2 rows of the batch is scored"):
        token_advantages(rows([None, math.nan]))


def test_roles_have_baselines_of_their_own() -> None:
    batch = [*rows([0.0, 1.0], role="agent"), *rows([5.0, 9.0], role="designer"), *rows([None], role="judge")]
    assert token_advantages(batch) == (-0.5, 0.5, -2.0, 2.0, None)
    assert token_advantages(batch, scales={"designer": 3.0})[2:4] == (-6.0, 6.0)


def test_order_does_not_matter() -> None:
    batch = [*rows([0.0, 1.0]), *rows([5.0, 9.0], ("u", 1))]
    mixed = [batch[2], batch[0], batch[3], batch[1]]
    assert token_advantages(mixed) == (-2.0, -0.5, 2.0, 0.5)


def test_a_scale_for_nobody_is_refused() -> None:
    with pytest.raises(BadInput, match="scales name desinger"):
        token_advantages(rows([1.0, 0.0]), scales={"desinger": 2.0})
