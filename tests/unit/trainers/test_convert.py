"""The border to TRL: as many rows out as prompts came in, every column as long, and AsyncGRPO's samples."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from metagym.errors import BadInput
from metagym_trainers.convert import group_number, rollout_columns, rollout_samples, sample_class
from metagym_trainers.episodes import TokenEpisode, filler


def row(reward: float | None = 1.0, group: int = 0, **changes: object) -> TokenEpisode:
    given = {"prompt_ids": (1, 2), "completion_ids": (3, 4, 5), "mask": (1, 0, 1), "logprobs": (-1.0, 0.0, -2.0)}
    return TokenEpisode(**{**given, "reward": reward, "group": ("t", group), **changes})  # type: ignore[arg-type]


def test_s12_as_many_rows_as_prompts_in_their_order() -> None:
    batch = [row(float(at), at // 2) for at in range(4)]
    columns = rollout_columns(batch, 4, group_size=2)
    assert columns["reward"] == [0.0, 1.0, 2.0, 3.0]
    assert {len(column) for column in columns.values()} == {4}


def test_s12_another_number_of_rows_names_both() -> None:
    with pytest.raises(BadInput, match="returns 8 rows and the trainer handed in 4 prompts"):
        rollout_columns([row() for _ in range(8)], 4)


def test_s03_columns_keep_both_ends() -> None:
    columns = rollout_columns([row(0.0, terminated=True), row(0.0, truncated=True)], 2)
    assert columns["terminated"] == [True, False] and columns["truncated"] == [False, True]


def test_s11_columns_keep_the_reward_of_each_turn() -> None:
    columns = rollout_columns([row(0.1, turns=((0, 1, 0.2), (2, 3, -0.1)))], 1)
    assert columns["turn_rewards"] == [[0.2, -0.1]] and columns["reward"] == [0.1]


def test_s13_a_block_of_two_groups_is_refused() -> None:
    with pytest.raises(BadInput, match="rows 0 to 1 share one baseline in TRL and are of 2 groups"):
        rollout_columns([row(group=0), row(group=1)], 2, group_size=2)
    with pytest.raises(BadInput, match="another iteration number"):
        rollout_columns([row()] * 4, 4, group_size=2)
    with pytest.raises(BadInput, match="no whole groups of 2"):
        rollout_columns([row()] * 3, 3, group_size=2)
    rollout_columns([filler(9)] * 4, 4, group_size=2)  # empty slots share no baseline


def test_s14_all_columns_of_a_row_have_one_length() -> None:
    columns = rollout_columns([row(), row()], 2)
    for at in range(2):
        lengths = {len(columns[name][at]) for name in ("completion_ids", "logprobs", "env_mask")}
        assert lengths == {3}


def test_s14_a_truncated_row_is_masked_everywhere_or_nowhere() -> None:
    batch = [row(truncated=True), row()]
    assert rollout_columns(batch, 2)["env_mask"] == [[1, 0, 1], [1, 0, 1]]
    assert rollout_columns(batch, 2, mask_truncated=True)["env_mask"] == [[0, 0, 0], [1, 0, 1]]


def test_logprobs_come_from_all_rows_or_none() -> None:
    assert rollout_columns([row(logprobs=None)], 1)["logprobs"] is None
    with pytest.raises(BadInput, match="1 of 2 rows have log-probabilities"):
        rollout_columns([row(), row(logprobs=None)], 2)
    bare = dataclasses.replace(filler(9), logprobs=None)  # what nobody sampled has none to tell
    assert rollout_columns([row(), bare], 2)["logprobs"] == [[-1.0, 0.0, -2.0], [0.0]]
    assert rollout_columns([row(logprobs=None), filler(9)], 2)["logprobs"] is None


def test_s15_a_batch_of_empty_slots_has_all_the_columns_of_others() -> None:
    """With vLLM, TRL compares log-probabilities before any reward says that nothing is scored."""
    assert rollout_columns([filler(9)] * 2, 2)["logprobs"] == [[0.0], [0.0]]
    assert rollout_columns([row().silenced()], 1)["logprobs"] == [[-1.0, 0.0, -2.0]]


@pytest.mark.parametrize("nothing", [math.nan, math.inf, -math.inf])
def test_asyncgrpo_gets_no_number_that_would_spoil_every_weight(nothing: float) -> None:
    with pytest.raises(BadInput, match="not finite"):
        rollout_samples([row()], [nothing], 1)
    with pytest.raises(BadInput, match="role agent .* not finite"):
        rollout_samples([row(logprobs=(-1.0, 0.0, nothing))], [1.0], 1)
    assert rollout_samples([row(logprobs=(-1.0, 0.0, nothing))], [None], 1) == []
    assert len(rollout_samples([row(logprobs=(-1.0, nothing, -2.0))], [1.0], 1)) == 1  # foreign words are not trained


def test_samples_are_trls_own_with_every_field_filled() -> None:
    kind = sample_class()
    made = rollout_samples([row(0.5)], [0.25], 7, decode=lambda ids: "-".join(map(str, ids)))
    assert [field.name for field in dataclasses.fields(kind)] == [
        *("prompt", "completion", "input_ids", "completion_mask", "old_log_probs", "advantage", "model_version"),
        *("group_id", "metrics", "enqueued_at"),
    ]
    (sample,) = made
    assert isinstance(sample, kind)
    assert sample.prompt == [{"role": "user", "content": "1-2"}]
    assert sample.input_ids.tolist() == [1, 2, 3, 4, 5] and sample.input_ids.dtype == np.int64
    assert sample.completion_mask.tolist() == [0, 0, 1, 0, 1]
    assert sample.old_log_probs.tolist() == [0.0, 0.0, -1.0, 0.0, -2.0] and sample.old_log_probs.dtype == np.float32
    assert (sample.advantage, sample.model_version) == (0.25, 7)
    assert sample.metrics == {"reward": 0.5, "agent/reward": 0.5} and sample.enqueued_at is None


def test_s15_unscored_rows_and_empty_slots_reach_no_queue() -> None:
    assert rollout_samples([row(None), row(), filler(9)], [None, 0.0, 0.0], 1)[0].advantage == 0.0
    assert len(rollout_samples([row(None), row(), filler(9)], [None, 0.0, 0.0], 1)) == 1


def test_asyncgrpo_gets_no_row_without_logprobs() -> None:
    with pytest.raises(BadInput, match="has no log-probabilities, and AsyncGRPO needs them"):
        rollout_samples([row(logprobs=None)], [1.0], 1)
    with pytest.raises(BadInput, match="1 rows and 2 advantages"):
        rollout_samples([row()], [1.0, 1.0], 1)


def test_s13_the_number_of_a_group_comes_from_its_key_and_role() -> None:
    numbers = {group_number(role, key) for role in ("a", "b") for key in (("t", 1), ("t", "1"), ("t", 2))}
    assert len(numbers) == 6 and group_number("a", ("t", 1)) == group_number("a", ("t", 1))
    assert all(0 <= number < 2**63 for number in numbers)
