"""The reward of a reflector in training: what its prompt is worth to the frozen actor on the previous batch.

The replay reward of *Training Language Agents to Learn from Experience* (arXiv 2605.20477): the batch that the
reflector has read is played again under each candidate prompt with the same tasks and seeds; the mean return is the
reward. Written for `reward_funcs` of TRL's `GRPOTrainer`, the one hook that is stable there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from metagym.checks import number
from metagym.errors import BadInput, TooManyFailures
from metagym.playing import sync
from metagym_trainers.ict.candidates import Candidate, candidate_of
from metagym_trainers.ict.replays import Replay, Replays
from metagym_trainers.ict.rows import COMMAND, ReplaySpec

METRICS = (
    "replay/return",
    "replay/success_rate",
    "replay/seconds",
    "replay/cache_hit_rate",
    "replay/unscored",
    "replay/unparsed",
    "replay/episodes",
    "replay/episodes_failed",
)
"""What each call logs, the same names every time; NaN where nothing was measured."""


class Measured(NamedTuple):
    """What was measured of a generation batch.

    Attributes:
        scored: Replays with a value.
        played: All replays.
        cause: Why the first one without a value has none.
    """

    scored: int
    played: int
    cause: str


class ReplayReward:
    """An async reward function: ``GRPOTrainer(reward_funcs=ReplayReward(actor=...), train_dataset=ict_dataset(...))``.

    A completion gets the mean return of the batch under its prompt; None (TRL leaves it out of its group) where the
    replay could not be measured, e.g. because a server is down; and `unparsed` where it holds no usable prompt, by the
    reflector's own rule: that is the policy's own failure and not the machine's.

    All candidates and tasks of a generation batch are played at once, up to the concurrency of `replays`; equal
    candidates of a row are played once.

    Args:
        replays: How candidates are played.
        unparsed: Reward of a completion without a usable prompt. 0.0 is the return of an episode in which nothing was
            achieved; take the worst possible return in a family whose returns can be negative.
        ends: Ids that end an answer, to tell completions cut at the token limit; set it to the trainer's
            ``eos_token_ids`` once there is a trainer. None: they are not told apart.

    Attributes:
        calls: Generation batches that were scored.
        last: The rewards of the last one.
        measured: How much of the last one was measured; None before the first.
        together: Somebody else judges whether a batch was measured (`metagym_trainers.ict.judged`).

    Raises:
        BadInput: `unparsed` is not a finite number.
    """

    __name__ = "replay_return"  # TRL names the reward's metrics by it

    def __init__(self, replays: Replays, *, unparsed: float = 0.0, ends: Collection[int] | None = None) -> None:
        self.replays = replays
        self.unparsed = number("unparsed", unparsed, -math.inf)
        self.last: Sequence[float | None] = ()
        self.ends = ends
        self.calls = 0
        self.measured: Measured | None = None
        self.together = False

    async def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        replay: Sequence[str] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **_: Any,
    ) -> list[float | None]:
        """Scores a generation batch; called by the trainer.

        Args:
            prompts: Not looked at: a row is known by its id, never by its text.
            completions: Texts or lists of messages.
            completion_ids: Their token ids.
            replay: The dataset's column of that name.
            log_metric: Logs a number.
            log_extra: Adds a column to the table of completions.
            **_: Whatever else the trainer passes.

        Returns:
            One reward per completion, in order.

        Raises:
            BadInput: The dataset has no column ``replay``, or not one entry per completion.
            TooManyFailures: Nothing was measured although there were candidates: going on would train on nothing. With
                `together` that is for somebody else to say.
        """
        started = perf_counter()
        self.calls += 1
        specs = _specs(replay, len(completions))
        ids: Sequence[Sequence[int] | None] = completion_ids if completion_ids is not None else [None] * len(specs)
        candidates = [
            candidate_of(completion, spec.system_prompt, own, self.ends)
            for completion, spec, own in zip(completions, specs, ids, strict=True)
        ]
        results, fresh = await self._replayed(specs, candidates)
        rewards = [
            self.unparsed if result is None else result.value for result in results
        ]  # None stays None: not measured
        self.last = tuple(rewards)
        if log_extra is not None:
            log_extra("replay_outcome", [_outcome(*pair) for pair in zip(candidates, results, strict=True)])
        if log_metric is not None:
            for name, value in zip(METRICS, _figures(results, fresh, perf_counter() - started), strict=True):
                log_metric(name, value)
        played = [result for result in results if result is not None]
        scored = sum(result.value is not None for result in played)
        cause = next((result.cause for result in played if result.value is None), "")
        self.measured = Measured(scored, len(played), cause)
        if not self.together:
            refuse_unscored(*self.measured)
        return rewards

    async def _replayed(
        self, specs: Sequence[ReplaySpec], candidates: Sequence[Candidate]
    ) -> tuple[list[Replay | None], list[Replay]]:
        """The result of each candidate (None without a prompt), and those that were played for it."""
        wanted: dict[tuple[str, str], ReplaySpec] = {}
        for spec, candidate in zip(specs, candidates, strict=True):
            if candidate.prompt is not None:
                wanted.setdefault((spec.identity, candidate.prompt), spec)
        found = await self.replays([(spec, prompt) for (_, prompt), spec in wanted.items()])
        by_key = {key: result for key, (result, _) in zip(wanted, found, strict=True)}
        results = [
            None if candidate.prompt is None else by_key[spec.identity, candidate.prompt]
            for spec, candidate in zip(specs, candidates, strict=True)
        ]
        return results, [result for result, known in found if not known]

    def check(self, rows: Any) -> None:
        """Looks whether a training on these rows can work, before a model is loaded.

        Args:
            rows: The dataset of `ict_dataset`, or its rows.

        Raises:
            BadInput: The column ``replay`` is missing, or family or actor cannot be made.
            TooManyFailures: The actor does not play, e.g. since its server is down.
        """
        first = next(iter(rows), None)
        if first is None or "replay" not in first:
            raise BadInput(_MISSING)
        sync.run(self._checked(ReplaySpec.from_text(first["replay"])))

    async def _checked(self, spec: ReplaySpec) -> None:
        """Leaves nothing open on this loop, which is not the trainer's."""
        try:
            await self.replays.check(spec)
        finally:
            await self.replays.aclose()


def refuse_unscored(scored: int, played: int, cause: str) -> None:
    """Refuses a batch of which nothing was measured although there were candidates.

    Raises:
        TooManyFailures: It is so: going on would train on nothing.
    """
    if played and not scored:
        raise TooManyFailures(
            f"none of the {played} replays of this batch could be scored ({cause}); the training stops, since a batch "
            "without rewards trains nothing: repair the actor's server and resume from the last checkpoint"
        )


_MISSING = f"the dataset has no column 'replay': make rows with '{COMMAND}' and the dataset with ict_dataset(rows)"


def _specs(replay: Sequence[str] | None, count: int) -> list[ReplaySpec]:
    if replay is None:
        raise BadInput(_MISSING)
    if len(replay) != count:
        raise BadInput(f"the trainer gave {count} completions and {len(replay)} entries of column 'replay'")
    return [ReplaySpec.from_text(text) for text in replay]


def _outcome(candidate: Candidate, result: Replay | None) -> str:
    """One word for the table of completions."""
    return "unscored" if result is not None and result.value is None else candidate.outcome


def _mean(values: Sequence[float | None]) -> float:
    """The mean of what was measured; NaN where nothing was."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else math.nan


def _figures(results: Sequence[Replay | None], fresh: Sequence[Replay], seconds: float) -> tuple[float, ...]:
    """The values of `METRICS`."""
    played = [result for result in results if result is not None]
    return (
        _mean([result.value for result in played]),
        _mean([result.success for result in played]),
        seconds,
        1.0 - len(fresh) / len(played) if played else math.nan,
        float(sum(result.value is None for result in played)),
        float(len(results) - len(played)),
        float(sum(result.episodes + result.failed for result in fresh)),
        float(sum(result.failed for result in fresh)),
    )
