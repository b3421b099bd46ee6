"""Advantages of rows, each role and each group on its own, by the core's rules (`metagym.spade.advantages`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metagym.errors import BadInput, TooManyFailures
from metagym.spade.advantages import advantages
from metagym_trainers.episodes import TokenEpisode
from metagym_trainers.ranks import total


def token_advantages(
    episodes: Sequence[TokenEpisode], *, rule: str = "center", scales: Mapping[str, float] | None = None
) -> tuple[float | None, ...]:
    """The advantage of each row.

    Args:
        episodes: Rows of any roles and groups, in any order.
        rule: ``"center"``, ``"zscore"`` or ``"rloo"``, see `metagym.spade.advantages.advantages`.
        scales: Factor per role; 1 where a role is not named.

    Returns:
        One per row, in order; None for a row that nothing could score: it moves no baseline and is not trained on.

    Raises:
        TooManyFailures: No row of any role is scored: there is nothing to learn from.
        BadInput: A scale names a role that no row has, or the rule is unknown.
    """
    check_scored([episode.reward for episode in episodes])
    rows: dict[str, list[int]] = {}
    for index, episode in enumerate(episodes):
        rows.setdefault(episode.role, []).append(index)
    if unknown := set(scales or {}) - set(rows):
        raise BadInput(f"scales name {', '.join(sorted(unknown))}, and the rows have the roles {', '.join(rows)}")
    out: list[float | None] = [None] * len(episodes)
    for role, indices in rows.items():
        rewards = [episodes[index].reward for index in indices]
        if all(reward is None for reward in rewards):  # the other roles go on; the count stands in the metrics
            continue
        groups = [episodes[index].group for index in indices]
        found = advantages(rewards, groups, rule, (scales or {}).get(role, 1.0))
        for index, value in zip(indices, found.values, strict=True):
            out[index] = value
    return tuple(out)


def check_scored(rewards: Sequence[float | None], *, together: bool = False) -> None:
    """Refuses a batch that nothing could score, before a trainer makes a step of it.

    TRL would take the step with advantages of 0, which still moves weights where an entropy bonus, a KL term or weight
    decay is set.

    Args:
        rewards: One per row.
        together: They are one process's part of the batch, and every process asks: the whole batch is judged, so that
            a part without a score ends no run in which the others have some.

    Raises:
        TooManyFailures: Every reward is None, or there is none.
    """
    scored = sum(reward is not None for reward in rewards)
    known, rows = total(scored, len(rewards)) if together else (scored, len(rewards))
    if not known:
        raise TooManyFailures(
            f"none of the {rows} rows of the batch is scored, so that nothing can be learned from it: look at "
            "the causes of the failed episodes (a server that is down?) and resume from the last checkpoint"
        )
