"""From `TokenEpisode`s to what TRL takes: the columns of a rollout function, and the samples of an AsyncGRPO worker."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from metagym.errors import BadInput
from metagym.seeding import derive
from metagym_trainers.episodes import GroupKey, TokenEpisode

Columns = dict[str, Any]


def rollout_columns(
    episodes: Sequence[TokenEpisode],
    expected_rows: int,
    *,
    group_size: int | None = None,
    mask_truncated: bool = False,
) -> Columns:
    """The dict that a TRL ``rollout_func`` returns.

    TRL has already repeated each prompt ``num_generations`` times, so that one row goes back per prompt it handed in;
    reward functions receive every column beside the ids as a keyword (`metagym_trainers.tracking.RolloutReward` reads
    ``reward``).

    Args:
        episodes: The rows, in the order of the prompts.
        expected_rows: ``len(prompts)`` as TRL handed them in.
        group_size: ``num_generations``; given, each block of so many rows must have one role and one group, and no two
            blocks the same, since TRL takes the mean reward of a block as its baseline.
        mask_truncated: Train on no token of a row that a limit has cut.

    Returns:
        Columns of `expected_rows` entries: ``prompt_ids``, ``completion_ids``, ``logprobs`` (or None), ``env_mask``,
        ``reward``, ``role``, ``group``, ``terminated``, ``truncated``, ``turn_rewards``, ``episode_metrics``.

    Raises:
        BadInput: Another number of rows, log-probabilities in some rows only, or blocks that are no groups.
    """
    check_rows(episodes, expected_rows)
    if group_size is not None:
        _check_blocks(episodes, group_size)
    # A filler has nothing to be weighed; in a batch of fillers alone, TRL asks for their columns all the same.
    trained = [episode for episode in episodes if any(episode.mask)] or list(episodes)
    known = sum(episode.logprobs is not None for episode in trained)
    if known not in (0, len(trained)):
        raise BadInput(
            f"{known} of {len(trained)} rows have log-probabilities: all or none must, sampled by one kind of policy"
        )
    return {
        "prompt_ids": [list(episode.prompt_ids) for episode in episodes],
        "completion_ids": [list(episode.completion_ids) for episode in episodes],
        "logprobs": [list(episode.logprobs or [0.0] * len(episode.mask)) for episode in episodes] if known else None,
        "env_mask": [
            [0] * len(episode.mask) if mask_truncated and episode.truncated else list(episode.mask)
            for episode in episodes
        ],
        "reward": [episode.reward for episode in episodes],
        "role": [episode.role for episode in episodes],
        "group": [episode.group for episode in episodes],
        "terminated": [episode.terminated for episode in episodes],
        "truncated": [episode.truncated for episode in episodes],
        "turn_rewards": [[turn.reward for turn in episode.turns] for episode in episodes],
        "episode_metrics": [dict(episode.metrics) for episode in episodes],
    }


def check_rows(rows: Sequence[object], expected: int) -> None:
    """Counts what crosses the border to the trainer.

    Raises:
        BadInput: The numbers differ.
    """
    if len(rows) != expected:
        raise BadInput(
            f"the rollout returns {len(rows)} rows and the trainer handed in {expected} prompts, already repeated for "
            "each generation: return one row per prompt, in order"
        )


def rollout_samples(
    episodes: Sequence[TokenEpisode],
    advantages: Sequence[float | None],
    version: int,
    *,
    decode: Callable[[Sequence[int]], str] | None = None,
) -> list[Any]:
    """`RolloutSample`s for the queue of TRL's AsyncGRPO (`trl.experimental.async_grpo`).

    Args:
        episodes: The rows; each needs log-probabilities, since AsyncGRPO always trains off-policy.
        advantages: One per row, finite. Rows with None are left out: unscored is not 0.
        version: The policy's version that sampled them (`update_model_version`).
        decode: From ids to text, for TRL's traces; None leaves these texts empty.

    Raises:
        BadInput: The lengths differ, a row has no log-probabilities, or a number is not finite: AsyncGRPO would carry
            it into every weight.
    """
    import numpy as np

    if len(advantages) != len(episodes):
        raise BadInput(f"each row has an advantage: {len(episodes)} rows and {len(advantages)} advantages")
    kind = sample_class()
    out = []
    for episode, advantage in zip(episodes, advantages, strict=True):
        if advantage is None or not any(episode.mask):
            continue
        if episode.logprobs is None:
            raise BadInput(f"a row of role {episode.role} has no log-probabilities, and AsyncGRPO needs them")
        if not all(map(math.isfinite, (*compress(episode.logprobs, episode.mask), advantage))):
            raise BadInput(
                f"a row of role {episode.role} has an advantage or a log-probability that is not finite, and AsyncGRPO "
                "would carry it into every weight: give the advantage None where either is unknown"
            )
        ahead = len(episode.prompt_ids)
        metrics = {f"{episode.role}/{name}": float(value) for name, value in episode.metrics.items()}
        if episode.reward is not None:
            metrics["reward"] = metrics[f"{episode.role}/reward"] = episode.reward
        text = decode or _silent
        out.append(
            kind(
                prompt=[{"role": "user", "content": text(episode.prompt_ids)}],
                completion=[{"role": "assistant", "content": text(episode.completion_ids)}],
                input_ids=np.asarray(episode.ids, dtype=np.int64),
                completion_mask=np.asarray((0,) * ahead + episode.mask, dtype=np.int64),
                old_log_probs=np.asarray((0.0,) * ahead + episode.logprobs, dtype=np.float32),
                advantage=float(advantage),
                model_version=version,
                group_id=group_number(episode.role, episode.group),
                metrics=metrics,
            )
        )
    return out


def sample_class() -> Any:
    """TRL's `RolloutSample`, imported when it is first needed."""
    from trl.experimental.async_grpo.async_rollout_worker import RolloutSample

    return RolloutSample


def group_number(role: str, group: GroupKey) -> int:
    """A stable number for a role's group, below 2**63; TRL keeps rows of one number together and counts them as one."""
    return derive(0, "group", role, *(int(part) if isinstance(part, bool) else part for part in group))


def _silent(ids: Sequence[int]) -> str:
    return ""


def _check_blocks(episodes: Sequence[TokenEpisode], size: int) -> None:
    if size < 1 or len(episodes) % size:
        raise BadInput(f"{len(episodes)} rows are no whole groups of {size}")
    seen = set()
    for first in range(0, len(episodes), size):
        keys = {(episode.role, episode.group) for episode in episodes[first : first + size]}
        if len(keys) != 1:
            raise BadInput(
                f"rows {first} to {first + size - 1} share one baseline in TRL and are of {len(keys)} groups: "
                f"{sorted(keys, key=str)[:3]}"
            )
        if (key := keys.pop()) in seen and any(e.reward is not None for e in episodes[first : first + size]):
            raise BadInput(f"two blocks of rows have the group {key}: give repeats of a task another iteration number")
        seen.add(key)
