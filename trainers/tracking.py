"""What a training run tells of itself: numbers per role, dead groups, unscored rows, sampled episodes in its folder.

Numbers go through TRL's own log, and from there to whatever ``report_to`` names (wandb, tensorboard, trackio); no
tracker is called from here.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from metagym.checks import whole
from metagym.errors import BadInput, MetaGymWarning
from metagym.seeding import rng
from metagym.strictjson import plain_json
from metagym_trainers.advantages import check_scored
from metagym_trainers.convert import check_rows
from metagym_trainers.episodes import TokenEpisode, scored

DEAD_SHARE = 0.8
"""Share of groups without spread above which a batch is warned about (notes of TRL's issues 3708 and 4764: such groups
dilute the loss, and nothing refills them)."""


class DeadGroupsWarning(MetaGymWarning):
    """Most groups of a batch have rewards that are all alike, and so teach nothing."""


def role_metrics(episodes: Sequence[TokenEpisode]) -> dict[str, float]:
    """The numbers of a batch, per role and in all.

    Returns:
        ``<role>/reward`` (mean of the scored rows; absent where none is), ``<role>/rows``, ``<role>/unscored``,
        ``<role>/truncated`` (share of rows), ``<role>/sampled_tokens`` (mean), ``<role>/dead_groups`` (share of the
        scored groups whose rewards are all alike; absent without scored groups), the mean of every number in
        ``metrics``, and ``groups/dead``, ``rows/unscored`` over all roles.
    """
    out: dict[str, float] = {}
    dead = alive = 0
    for role in dict.fromkeys(episode.role for episode in episodes):
        rows = [episode for episode in episodes if episode.role == role]
        rewards = [episode.reward for episode in rows if episode.reward is not None]
        flat, groups = _dead(rows)
        dead, alive = dead + flat, alive + groups - flat
        if rewards:
            out[f"{role}/reward"] = math.fsum(rewards) / len(rewards)
            out[f"{role}/dead_groups"] = flat / groups
        out[f"{role}/rows"] = float(len(rows))
        out[f"{role}/unscored"] = float(len(rows) - len(rewards))
        out[f"{role}/truncated"] = sum(episode.truncated for episode in rows) / len(rows)
        out[f"{role}/sampled_tokens"] = sum(sum(episode.mask) for episode in rows) / len(rows)
        for name in sorted({name for episode in rows for name in episode.metrics}):
            if known := [value for e in rows if (value := scored(e.metrics.get(name))) is not None]:
                out[f"{role}/{name}"] = math.fsum(known) / len(known)
    if dead + alive:
        out["groups/dead"] = dead / (dead + alive)
    out["rows/unscored"] = float(sum(episode.reward is None for episode in episodes))
    return out


def dead_share(rewards: Sequence[float | None], size: int) -> float | None:
    """Share of the blocks of `size` rewards whose scored members are all alike; None where nothing is scored.

    For reward functions, which see no groups: TRL's blocks are `num_generations` rows of one prompt.
    """
    whole("size", size, 1)
    blocks = [
        known
        for first in range(0, len(rewards), size)
        if (known := [reward for reward in rewards[first : first + size] if reward is not None])
    ]
    return sum(_alike(block) for block in blocks) / len(blocks) if blocks else None


def warn_dead(share: float | None, step: int | None = None) -> None:
    """Warns where most groups of a batch teach nothing.

    Args:
        share: Of `dead_share` or ``groups/dead``; None says nothing.
        step: For the message.
    """
    if share is None or share <= DEAD_SHARE:
        return
    what = "all rewards of every group are equal" if share == 1.0 else f"{share:.0%} of the groups have equal rewards"
    where = "" if step is None else f"step {step}: "
    warnings.warn(
        f"{where}{what}, and such groups teach nothing: grade the reward, take tasks that are sometimes solved and "
        "sometimes not, or sample more per prompt (num_generations)",
        DeadGroupsWarning,
        stacklevel=3,
    )


class Tracker:
    """Collects a run's numbers and keeps some of its episodes.

    Args:
        folder: Run folder; sampled episodes go to ``episodes/step-<n>.jsonl`` there. None keeps none. Where several
            processes train (``RANK`` of accelerate and torchrun), the first one alone keeps some.
        samples: Episodes kept per step, at most.
        every: Steps between two kept samples.
        decode: From ids to text, for the samples; None keeps ids alone.
        seed: Decides which episodes are kept.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        samples: int = 4,
        every: int = 1,
        decode: Callable[[Sequence[int]], str] | None = None,
        seed: int = 0,
    ) -> None:
        first = os.environ.get("RANK", "0") == "0"
        self._folder = Path(folder) / "episodes" if folder is not None and first else None
        self._samples, self._every = whole("samples", samples, 0), whole("every", every, 1)
        self._decode = decode
        self._seed = seed
        self.pending: dict[str, float] = {}

    def observe(self, episodes: Sequence[TokenEpisode], step: int, *, more: Mapping[str, float] | None = None) -> None:
        """Takes a batch in; call it once per rollout, before the rows go to the trainer.

        Args:
            episodes: All rows.
            step: The trainer's global step.
            more: Further numbers, e.g. ``{"replay/seconds": 3.2}``.
        """
        self.pending = {**role_metrics(episodes), **(more or {})}
        warn_dead(self.pending.get("groups/dead"), step)
        if self._folder is not None and self._samples and step % self._every == 0:
            self._keep(self._folder, episodes, step)

    def flush(self, log_metric: Callable[[str, float], None]) -> None:
        """Hands the numbers on, once; TRL gives reward functions the `log_metric` to do so."""
        for name, value in self.pending.items():
            log_metric(name, float(value))
        self.pending = {}

    def _keep(self, folder: Path, episodes: Sequence[TokenEpisode], step: int) -> None:
        """Writes the step's file whole: a resumed run writes the same one again instead of adding to it."""
        chosen = sorted(rng(self._seed, "kept", step).sample(range(len(episodes)), min(self._samples, len(episodes))))
        folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(self._line(episodes[index], index, step), ensure_ascii=False) for index in chosen]
        path = folder / f"step-{step:06d}.jsonl"
        part = path.with_suffix(".part")
        part.write_text("".join(line + "\n" for line in lines), "utf-8", "surrogatepass")
        os.replace(part, path)

    def _line(self, episode: TokenEpisode, row: int, step: int) -> dict[str, Any]:
        texts = {}
        if self._decode is not None:
            texts = {"prompt": self._decode(episode.prompt_ids), "completion": self._decode(episode.completion_ids)}
        line = {
            "step": step,
            "row": row,
            "role": episode.role,
            "group": list(episode.group),
            "reward": episode.reward,
            "turn_rewards": [turn.reward for turn in episode.turns],
            "terminated": episode.terminated,
            "truncated": episode.truncated,
            **texts,
            "prompt_ids": list(episode.prompt_ids),
            "completion_ids": list(episode.completion_ids),
            "mask": list(episode.mask),
            "metrics": {name: scored(value) for name, value in episode.metrics.items()},
        }
        return dict(plain_json(line, f"episode {row} of step {step}"))


class RolloutReward:
    """The reward function of trainers with a rollout function: hands on the reward that each row brought along.

    It is where what crosses the border is counted, and where a trainer that ignores ``rollout_func`` (patched ones do,
    unsloth issue 3573) is found out at its first batch.

    Args:
        tracker: Whose numbers go into TRL's log with this batch; None for none.
        name: The reward's name in the log: ``rewards/<name>/mean``.
    """

    def __init__(self, tracker: Tracker | None = None, *, name: str = "episode") -> None:
        self.tracker = tracker
        self.__name__ = name

    def __call__(
        self,
        *,
        completions: Sequence[Any],
        reward: Sequence[float | None] | None = None,
        env_mask: Any = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """The column ``reward`` of `rollout_columns`.

        Raises:
            BadInput: The column is missing: the trainer did not call the rollout function. Or the mask of foreign words
                came through to here: TRL takes it only from trainers without tools.
            TooManyFailures: No row is scored, in any process.
        """
        if reward is None:
            raise BadInput(
                "the batch has no column 'reward': the trainer did not call rollout_func (a patched GRPOTrainer?), or "
                "the function does not return metagym_trainers.rollout_columns(...); nothing was trained on it"
            )
        if env_mask is not None:
            raise BadInput(
                "the trainer did not take env_mask, since it has tools or an environment_factory, and would train on "
                "the environment's words: give it the rollout_func alone"
            )
        check_rows(reward, len(completions))
        check_scored(reward, together=True)
        if self.tracker is not None and log_metric is not None:
            self.tracker.flush(log_metric)
        return list(reward)


def _dead(rows: Sequence[TokenEpisode]) -> tuple[int, int]:
    """Groups whose scored rewards are all alike, and groups with a scored reward."""
    groups: dict[Any, list[float]] = {}
    for episode in rows:
        if episode.reward is not None:
            groups.setdefault(episode.group, []).append(episode.reward)
    return sum(map(_alike, groups.values())), len(groups)


def _alike(rewards: Sequence[float]) -> bool:
    return max(rewards) - min(rewards) <= 1e-9 * max(1.0, *map(abs, rewards))
