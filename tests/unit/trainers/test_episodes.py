"""The record that crosses the border: what it refuses, and what it never makes up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metagym.errors import BadInput
from metagym_trainers.episodes import TokenEpisode, TurnSpan, filler, scored, total


def row(**changes: object) -> TokenEpisode:
    given = {"prompt_ids": (1, 2), "completion_ids": (3, 4, 5), "mask": (1, 0, 1), "logprobs": (-1.0, 0.0, -2.0)}
    return TokenEpisode(**{**given, **changes})  # type: ignore[arg-type]


def test_what_was_sampled_is_what_the_mask_says() -> None:
    assert row().sampled == (3, 5) and row().ids == (1, 2, 3, 4, 5)


def test_numbers_of_other_libraries_become_plain_ones() -> None:
    made = row(prompt_ids=np.array([1, 2]), mask=np.array([1, 0, 1]), logprobs=np.array([-1.0, 0.0, -2.0]))
    assert made == row() and type(made.prompt_ids[0]) is int


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mask": (1, 0)}, "3 ids and 2 masks"),
        ({"mask": (1, 0, 2)}, "1 .sampled, trained. or 0"),
        ({"logprobs": (-1.0,)}, "3 ids and 1"),
        ({"completion_ids": (), "mask": (), "logprobs": ()}, "completion_ids are empty"),
        ({"prompt_ids": ()}, "prompt_ids are empty"),
        ({"prompt_ids": (1, -100)}, "at least 0, got -100"),
        ({"prompt_ids": ("a",)}, "whole numbers"),
        ({"completion_ids": (3, 4.7, 5)}, "whole numbers"),
        ({"mask": (1, 0.5, 1)}, "1 .sampled, trained. or 0"),
        ({"mask": (1, "0", 1)}, "1 .sampled, trained. or 0"),
        ({"logprobs": (-1.0, None, -2.0)}, "logprobs are numbers"),
        ({"group": "see red"}, "never a prompt's text"),
        ({"group": (1.5,)}, "never a prompt's text"),
        ({"reward": "high"}, "a reward is a number or None"),
        ({"terminated": True, "truncated": True}, "not both"),
        ({"turns": ((0, 2),)}, "0:2 is none"),
        ({"turns": ((2, 2),)}, "2:2 is none"),
    ],
)
def test_rows_that_would_train_on_something_else_are_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        row(**changes)


def test_s03_both_ends_stay_apart() -> None:
    by_rule, by_limit = row(terminated=True), row(truncated=True)
    assert (by_rule.terminated, by_rule.truncated) == (True, False)
    assert (by_limit.terminated, by_limit.truncated) == (False, True)


def test_s11_the_rewards_of_all_turns_add_up() -> None:
    assert total([0.2, 0.0, -0.1]) == pytest.approx(0.1)
    assert row(turns=(TurnSpan(0, 1, 0.2), (2, 3, -0.1))).turns[1].reward == -0.1


def test_s15_what_was_not_measured_is_not_zero() -> None:
    for nothing in (None, math.nan, math.inf):
        assert scored(nothing) is None and row(reward=nothing).reward is None
    assert total([0.2, None]) is None and total([]) is None
    assert scored(0) == 0.0


def test_an_empty_slot_trains_nothing() -> None:
    made = filler(7, role="designer")
    assert made.reward is None and sum(made.mask) == 0 and made.completion_ids == (7,)
    assert row(reward=1.0, turns=((0, 1),)).silenced().reward is None
    assert set(row(turns=((0, 1),)).silenced().mask) == {0}
