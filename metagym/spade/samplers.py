"""Which programs of the memory are shown to the designer or played again.

All samplers are functions ``(views, n, seed, ...) -> list of views``: at most n, no program twice, equal seeds give
equal lists, and the order of `views` does not matter. Ties are broken by the seed. A program is chosen by a quantity
only where this was measured: a regret that is None or NaN is neither high nor low.

Sources: PLR's mixture, Jiang, Grefenstette & Rocktäschel (2021), *Prioritized Level Replay*, ICML, section 3, with its
constants beta = 0.1 and rho = 0.1; SPADE's examples and thresholds as in its public code.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from metagym.checks import number, shown, whole
from metagym.errors import BadInput, UnknownName
from metagym.seeding import derive, rng
from metagym.spade.records import EnvView

Verdict = Literal["too easy", "too hard"]

EASY, HARD = 0.9, 0.1
"""Win rates beyond which a program is a bad example."""

LOW, HIGH = 0.15, 0.85
"""Win rates within which a program is a good example."""


def top(values: Any, n: int, seed: int) -> list[int]:
    """Places of the `n` greatest values, greatest first.

    Args:
        values: Numbers, None and NaN; of any shape that has one long axis, (5,) and (5, 1) alike.
        n: >= 0; fewer come back where fewer are measured.
        seed: Breaks ties.

    Raises:
        BadInput: The values have several long axes, or one is no number.
    """
    given = np.array(values, dtype=object)
    if given.size != max(given.shape, default=1):
        raise BadInput(f"there is one value for each candidate, got an array of shape {given.shape}")
    found = []
    for place, value in enumerate(given.ravel().tolist()):
        if (known := _measured(value)) is not None:
            found.append((-known, derive(seed, "tie", place), place))
    return [place for _, _, place in sorted(found)[: whole("n", n, 0)]]


def high_regret(views: Sequence[EnvView], n: int, seed: int) -> list[EnvView]:
    """The programs of the highest regret."""
    return _first(views, n, seed, lambda view: None if view.regret is None else -view.regret)


def frontier(views: Sequence[EnvView], n: int, seed: int, target: float = 0.5) -> list[EnvView]:
    """The programs whose win rate without the hint is nearest to `target`."""
    number("target", target, 0, 1)
    return _first(views, n, seed, lambda view: None if view.p0 is None else abs(view.p0 - target))


def stale(views: Sequence[EnvView], n: int, seed: int) -> list[EnvView]:
    """The programs that were not played for the longest time."""
    return _first(views, n, seed, lambda view: view.last_played)


def coverage(views: Sequence[EnvView], n: int, seed: int) -> list[EnvView]:
    """Skills in turn, those with the fewest plays first; of each skill the programs with the fewest plays."""
    groups: dict[str, list[EnvView]] = {}
    for view in _first(views, len(views), seed, lambda view: view.plays):
        groups.setdefault(view.skill, []).append(view)
    plays = {skill: sum(view.plays for view in group) for skill, group in groups.items()}
    turns = sorted(groups, key=lambda skill: (plays[skill], derive(seed, "skill", skill)))
    longest = max(map(len, groups.values()), default=0)
    found = [groups[skill][turn] for turn in range(longest) for skill in turns if turn < len(groups[skill])]
    return found[: whole("n", n, 0)]


def plr(
    views: Sequence[EnvView], n: int, seed: int, beta: float = 0.1, rho: float = 0.1, now: int | None = None
) -> list[EnvView]:
    """Drawn by PLR's mixture: (1 - rho) times the rank rule plus rho times staleness, without replacement.

    Args:
        views: The candidates; those without a measured regret are left out.
        n: How many, >= 0.
        seed: Decides the draws.
        beta: Temperature of the rank rule, weight rank ** (-1 / beta); > 0. The smaller, the greedier.
        rho: Share of staleness, in [0, 1].
        now: The current round; None takes the one after the latest measurement.
    """
    number("beta", beta, 0, above=True)
    number("rho", rho, 0, 1)
    ranked = high_regret(views, len(views), seed)
    latest = max((view.last_played for view in ranked), default=0) + 1
    moment = latest if now is None else max(whole("now", now, 0), latest)
    ages = [moment - view.last_played for view in ranked]
    draw = rng(seed, "plr")
    left = list(range(len(ranked)))
    found: list[EnvView] = []
    while left and len(found) < whole("n", n, 0):
        # Relative to the best rank that is left: a small beta would make all weights 0 otherwise.
        scores = [((left[0] + 1) / (place + 1)) ** (1 / beta) for place in left]
        by_score, by_age = sum(scores), sum(ages[place] for place in left)
        weights = [
            (1 - rho) * score / by_score + rho * ages[place] / by_age for score, place in zip(scores, left, strict=True)
        ]
        found.append(ranked[left.pop(draw.choices(range(len(left)), weights)[0])])
    return found


def negatives(views: Sequence[EnvView], n: int, seed: int, easy: float = EASY, hard: float = HARD) -> list[EnvView]:
    """Bad examples, drawn evenly: programs won more often than `easy` or less often than `hard` without the hint."""
    bad = [view for view in _settled(views) if verdict(view, easy, hard)]
    return _drawn(bad, n, seed, "negatives")


def verdict(view: EnvView, easy: float = EASY, hard: float = HARD) -> Verdict | None:
    """What is wrong with a program as an example; None for nothing, or where the win rate is unmeasured."""
    rate = _measured(view.p0)
    if rate is None:
        return None
    return "too easy" if rate > easy else "too hard" if rate < hard else None


@dataclass(frozen=True)
class Examples:
    """What the designer is shown of the memory.

    Attributes:
        positives: Programs to learn from, not to repeat.
        negatives: Programs to avoid; `verdict` says why.
    """

    positives: tuple[EnvView, ...] = ()
    negatives: tuple[EnvView, ...] = ()


def spade_examples(views: Sequence[EnvView], skill: str, seed: int, positives: int = 2, bad: int = 1) -> Examples:
    """SPADE's own rule.

    Positives are drawn evenly from the best max(3 * `positives`, 10) by regret among the programs of this skill whose
    win rate is in [`LOW`, `HIGH`]. Negatives are drawn evenly from the programs of this skill that are too easy or too
    hard.

    Args:
        views: The memory.
        skill: The skill that the designer is asked for.
        seed: Decides the draws.
        positives: How many, >= 0.
        bad: How many negatives, >= 0.
    """
    same = [view for view in views if view.skill == skill]
    fair = [view for view in same if (rate := _measured(view.p0)) is not None and LOW <= rate <= HIGH]
    best = high_regret(fair, max(3 * whole("positives", positives, 0), 10), seed)
    return Examples(tuple(_drawn(best, positives, seed, "positives")), tuple(negatives(same, bad, seed)))


Sampler = Callable[..., list[EnvView]]

SAMPLERS: Mapping[str, Sampler] = {
    "high_regret": high_regret,
    "frontier": frontier,
    "stale": stale,
    "coverage": coverage,
    "plr": plr,
    "negatives": negatives,
}
"""Every sampler by its name."""


def sampler(name: str) -> Sampler:
    """The sampler of a name.

    Raises:
        UnknownName: There is none.
    """
    if name not in SAMPLERS:
        raise UnknownName(f"there is no sampler {shown(name)}; there are {', '.join(SAMPLERS)}")
    return SAMPLERS[name]


def histogram(choices: Iterable[Iterable[EnvView | str]]) -> dict[str, int]:
    """How often each program was chosen: digest -> count, the most frequent first (ties by digest)."""
    counts = Counter(item if isinstance(item, str) else item.digest for chosen in choices for item in chosen)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _first(views: Sequence[EnvView], n: int, seed: int, key: Callable[[EnvView], float | None]) -> list[EnvView]:
    """The views of the smallest keys; those without a finite key are left out."""
    keys = [(_measured(key(view)), derive(seed, "tie", view.digest), view) for view in views]
    found = [(known, tie, view) for known, tie, view in keys if known is not None]
    return [view for _, _, view in sorted(found, key=lambda item: item[:2])[: whole("n", n, 0)]]


def _settled(views: Sequence[EnvView]) -> list[EnvView]:
    return sorted(views, key=lambda view: view.digest)


def _drawn(views: Sequence[EnvView], n: int, seed: int, name: str) -> list[EnvView]:
    return rng(seed, name).sample(_settled(views), min(whole("n", n, 0), len(views)))


def _measured(value: Any) -> float | None:
    """A finite number, or None; arrays of one number are numbers."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise BadInput(f"a value to choose by is a number or None, got {shown(value)}") from None
    return found if math.isfinite(found) else None
