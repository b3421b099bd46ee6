"""One trainer-neutral record of what a policy sampled: ids, mask, log-probabilities, reward, group and role."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from operator import index
from typing import Any, NamedTuple

from metagym.checks import number, shown
from metagym.errors import BadInput

GroupKey = tuple[str | int, ...]
"""What shares a baseline: (task id, seed, iteration) or the like. Never the text of a prompt: two tasks with the same
words and different hidden states are two groups."""


class TurnSpan(NamedTuple):
    """One turn of the policy inside a completion.

    Attributes:
        start: Index of its first sampled token in the completion.
        stop: Index after its last one.
        reward: What the environment paid for it; None where that was not measured.
    """

    start: int
    stop: int
    reward: float | None = None


@dataclass(frozen=True)
class TokenEpisode:
    """One row for a trainer. Ids are what was sampled and what was fed; nothing is ever encoded again.

    Attributes:
        prompt_ids: Ids before the first sampled token; at least one.
        completion_ids: Sampled ids and, between them, the environment's; at least one.
        mask: One number per completion id: 1 was sampled by the policy and is trained, 0 is foreign text.
        logprobs: Log-probability of each completion id when it was sampled (0.0 at foreign ones), or None.
        reward: What the whole episode is paid; None if nothing could score it. Not finite counts as None.
        group: See `GroupKey`.
        role: Who sampled it: ``"agent"``, ``"designer"``, ``"solver"``, ...
        metrics: Numbers for the log.
        truncated: Cut by a limit (steps, tokens, context).
        terminated: Ended by the environment's own rule; never together with `truncated`.
        turns: The policy's turns, in order; may be empty where nobody asked for them.

    Raises:
        BadInput: Lengths differ, a row is empty, a mask holds something else than 0 and 1, a group is no tuple.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...] | None = None
    reward: float | None = None
    group: GroupKey = ()
    role: str = "agent"
    metrics: Mapping[str, float] = field(default_factory=dict)
    truncated: bool = False
    terminated: bool = False
    turns: tuple[TurnSpan, ...] = ()

    def __post_init__(self) -> None:
        """Checks the row; sequences of any kind become tuples."""
        settle = object.__setattr__
        settle(self, "prompt_ids", _ids("prompt_ids", self.prompt_ids))
        settle(self, "completion_ids", _ids("completion_ids", self.completion_ids))
        mask, count = tuple(self.mask), len(self.completion_ids)
        if len(mask) != count:
            raise BadInput(f"each completion id has a mask: {count} ids and {len(mask)} masks")
        if not all(part in (0, 1) for part in mask):
            raise BadInput(f"a mask is 1 (sampled, trained) or 0 (foreign text), got {shown(mask)}")
        settle(self, "mask", tuple(map(int, mask)))
        if self.logprobs is not None:
            try:
                settle(self, "logprobs", tuple(map(float, self.logprobs)))
            except (TypeError, ValueError):
                raise BadInput(f"logprobs are numbers (NaN where one is unknown), got {shown(self.logprobs)}") from None
            if len(self.logprobs) != count:
                raise BadInput(f"each completion id has a log-probability: {count} ids and {len(self.logprobs)}")
        if self.reward is not None:
            settle(self, "reward", scored(self.reward))
        if not isinstance(self.group, tuple) or not all(isinstance(part, (str, int)) for part in self.group):
            raise BadInput(
                f"a group is a tuple such as (task id, seed, iteration), never a prompt's text, got {shown(self.group)}"
            )
        if self.truncated and self.terminated:
            raise BadInput("an episode was terminated by its environment or truncated by a limit, not both")
        settle(self, "turns", tuple(TurnSpan(*turn) for turn in self.turns))
        for turn in self.turns:
            if not 0 <= turn.start < turn.stop <= count or 0 in self.mask[turn.start : turn.stop]:
                raise BadInput(f"a turn is a span of sampled ids, and {turn.start}:{turn.stop} is none")

    @property
    def ids(self) -> tuple[int, ...]:
        """Prompt and completion, as the model sees them."""
        return self.prompt_ids + self.completion_ids

    @property
    def sampled(self) -> tuple[int, ...]:
        """The ids that the policy sampled, in order."""
        return tuple(compress(self.completion_ids, self.mask))

    def silenced(self) -> TokenEpisode:
        """The same row with nothing to train on, and without a reward: a filler, or a row that must not count."""
        return replace(self, mask=(0,) * len(self.mask), reward=None, turns=())


def filler(end_id: int, *, role: str = "agent", group: GroupKey = ("filler",)) -> TokenEpisode:
    """A row for a slot that stays empty: one masked id and no reward, so that no gradient comes of it.

    Args:
        end_id: The id that ends an answer, so that TRL does not count the row as cut.
        role: Of the slot.
        group: Of the slot.
    """
    return TokenEpisode((end_id,), (end_id,), (0,), (0.0,), None, group, role, {}, False)


def scored(reward: Any) -> float | None:
    """A reward as a finite float, or None: what was not measured is never 0.

    Raises:
        BadInput: It is neither a number nor None.
    """
    if reward is None:
        return None
    try:
        found = float(reward)
    except (TypeError, ValueError):
        raise BadInput(f"a reward is a number or None, got {shown(reward)}") from None
    return number("reward", found, -math.inf) if math.isfinite(found) else None


def total(rewards: Iterable[float | None]) -> float | None:
    """The sum of the rewards of an episode's turns; None if one of them was not measured, or there are none."""
    found = [scored(reward) for reward in rewards]
    known = [reward for reward in found if reward is not None]
    return math.fsum(known) if known and len(known) == len(found) else None


def _ids(name: str, ids: Sequence[Any]) -> tuple[int, ...]:
    found = tuple(ids)
    if not set(map(type, found)) <= {int}:  # numpy's and torch's numbers become plain ones
        try:
            found = tuple(map(index, found))
        except (TypeError, ValueError):
            raise BadInput(f"{name} are whole numbers, got {shown(ids)}") from None
    if not found:
        raise BadInput(f"{name} are empty, and a row needs at least one id on either side")
    if min(found) < 0:
        raise BadInput(f"{name} are at least 0, got {min(found)}")
    return found
