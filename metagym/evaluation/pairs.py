"""Two results on one benchmark, compared task by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metagym import stats
from metagym.episodes import Episode
from metagym.errors import BadInput
from metagym.evaluation.card import refuse_unlike
from metagym.evaluation.measures import at_worst, task_scores
from metagym.stats import Estimate, McNemar

_SHOWN = 3  # tasks that a note names


@dataclass(frozen=True)
class Contrast:
    """Two results on the same tasks; the difference is b - a.

    Attributes:
        a: Name of the first.
        b: Name of the second.
        difference: Paired difference of avg@k, bootstrapped over tasks.
        test: McNemar's exact test where every task was simply won or lost on both sides (as with one sample each); else
            None.
        notes: What the reader must know before the figures are believed.
    """

    a: str
    b: str
    difference: Estimate
    test: McNemar | None
    notes: tuple[str, ...] = ()


def contrast(
    a: str,
    card_a: Mapping[str, Any],
    played_a: Sequence[Episode],
    missing_a: int,
    b: str,
    card_b: Mapping[str, Any],
    played_b: Sequence[Episode],
    missing_b: int,
    seed: int = 0,
) -> Contrast:
    """Compares two results.

    Args:
        a: Name of the first, e.g. the baseline.
        card_a: Its card.
        played_a: Its episodes.
        missing_a: Episodes of it that have no record.
        b: Name of the second.
        card_b: Its card.
        played_b: Its episodes.
        missing_b: Episodes of it that have no record.
        seed: Decides the bootstrap's resampling.

    Raises:
        BadInput: The cards differ (the message names the field), or one side is not complete.
    """
    refuse_unlike(card_a, card_b, a, b)
    for name, missing in ((a, missing_a), (b, missing_b)):
        if missing:
            raise BadInput(f"{name} lacks {missing} episodes: finish the run (--resume) before it is compared")
    scores_a, scores_b = task_scores(played_a), task_scores(played_b)
    notes = [*_unscored(a, played_a), *_unscored(b, played_b), *_shown_otherwise(played_a, played_b)]
    kinds = [" and ".join(sorted({episode.backend for episode in played})) for played in (played_a, played_b)]
    if kinds[0] != kinds[1]:
        notes.append(f"Different kinds of model: {kinds[0]} and {kinds[1]}.")
    elif kinds[0] == "scripted":
        notes.append("Scripted stand-ins on both sides: this compares the machinery, not language models.")
    return Contrast(a, b, stats.paired_difference(scores_a, scores_b, seed), _mcnemar(scores_a, scores_b), tuple(notes))


def _unscored(name: str, episodes: Sequence[Episode]) -> list[str]:
    lost = sum(not episode.scored or episode.success is None for episode in episodes)
    worst = at_worst(episodes)
    if not lost or worst is None:
        return []
    return [
        f"{lost} of {len(episodes)} episodes of {name} are unscored and enter no figure; had they been lost, its avg@k "
        f"would be {worst:.3f}."
    ]


def _shown_otherwise(a: Sequence[Episode], b: Sequence[Episode]) -> list[str]:
    """Equal cards whose tasks showed another first observation: data that no digest covers, or a simulated user."""
    first = {(e.task.key, e.turns[0].observation) for e in a if e.turns}
    others = {(e.task.key, e.turns[0].observation) for e in b if e.turns}
    keys_b = {key for key, _ in others}
    differing = sorted({key for key, _ in first - others if key in keys_b})
    if not differing:
        return []
    named = ", ".join(differing[:_SHOWN]) + (", ..." if len(differing) > _SHOWN else "")
    return [f"{len(differing)} tasks showed another first observation on the two sides: {named}."]


def _mcnemar(a: Mapping[str, float | None], b: Mapping[str, float | None]) -> McNemar | None:
    if any(score not in (None, 0.0, 1.0) for score in (*a.values(), *b.values())):
        return None
    return stats.mcnemar(
        {key: None if score is None else score == 1.0 for key, score in a.items()},
        {key: None if score is None else score == 1.0 for key, score in b.items()},
    )
