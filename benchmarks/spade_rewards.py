"""What the presets of the designer's reward pay for programs of known win rates, side by side.

``python -m benchmarks.spade_rewards`` prints the tables of docs/spade_rewards.md (about three minutes). Agents are
coins: each play of a seed is won with that seed's probability. What depends on the number of wins alone is summed over
all of them (exact); the rest is averaged over seeded replications.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from metagym.seeding import rng
from metagym.spade.regret import (
    Estimator,
    Outcome,
    RegretEstimate,
    Sequential,
    estimate,
    estimate_regret,
    pair_seeds,
)
from metagym.spade.rewards import PRESETS, Evidence, Regret, preset

PLAYS = 16
BASELINE = 0.5
"""Slow average of the win rate, for `learning_potential`."""


@dataclass(frozen=True)
class Archetype:
    """A kind of program: the chances to win its seeds without (p) and with the hint (q), for seeds by turns."""

    name: str
    p: tuple[float, ...]
    q: tuple[float, ...]

    @property
    def uniform(self) -> bool:
        """Whether all seeds are alike."""
        return len(self.p) == 1

    @property
    def fixed(self) -> bool:
        """Whether every play ends the same way each time."""
        return all(chance in (0, 1) for chance in self.p + self.q)


ARCHETYPES = (
    Archetype("trivial (1, 1)", (1,), (1,)),
    Archetype("impossible (0, 0)", (0,), (0,)),
    Archetype("frontier (.5, .95)", (0.5,), (0.95,)),
    Archetype("frontier, useless hint (.5, .5)", (0.5,), (0.5,)),
    Archetype("solvable only with hint (0, 1)", (0,), (1,)),
    Archetype("hard, teachable (.15, .6)", (0.15,), (0.6,)),
    Archetype("easy (.9, 1)", (0.9,), (1,)),
    Archetype("hint hurts (.5, .3)", (0.5,), (0.3,)),
    Archetype("half trivial, half impossible", (1, 0), (1, 0)),
    Archetype("half trivial, half only with hint", (1, 0), (1, 1)),
    Archetype("half only with hint, half useless hint", (0, 0.5), (1, 0.5)),
)


def plays(
    draws: random.Random, p: Sequence[float], q: Sequence[float], repeats: int = 1
) -> tuple[list[Outcome], list[Outcome]]:
    """The plays of both arms; p and q are the chances to win each seed without and with the hint."""
    return (
        [Outcome(s, r, 0, success=draws.random() < c) for s, c in enumerate(p) for r in range(repeats)],
        [Outcome(s, r, 1, success=draws.random() < c) for s, c in enumerate(q) for r in range(repeats)],
    )


def evidence(found: RegretEstimate) -> Evidence:
    """A valid program, new, without a leak."""
    return Evidence(valid=True, regret=found, win_baseline=BASELINE, novelty=1.0, repetition=0.0, leak=0.0)


def exact(p: float, q: float, *values: Callable[[Evidence], float | None], n: int = PLAYS) -> list[float]:
    """The expected values of what depends on the wins of both arms alone, n seeds with one play each."""
    totals = [0.0] * len(values)
    for i, j in product(range(n + 1), repeat=2):
        weight = math.comb(n, i) * p**i * (1 - p) ** (n - i) * math.comb(n, j) * q**j * (1 - q) ** (n - j)
        if weight > 1e-9:
            wins0 = [Outcome(s, success=s < i) for s in range(n)]
            wins1 = [Outcome(s, arm=1, success=s < j) for s in range(n)]
            given = evidence(estimate(wins0, wins1, binary=True))
            for index, value in enumerate(values):
                found = value(given)
                assert found is not None
                totals[index] += weight * found
    return totals


def total(name: str) -> Callable[[Evidence], float | None]:
    """What a preset pays in all."""
    reward = preset(name)
    return lambda given: reward(given).total


def estimates(
    kind: Archetype, seeds: int, repeats: int, replications: int, estimator: Estimator = "paired"
) -> Iterator[RegretEstimate]:
    """Replications of an estimate; equal arguments give equal ones."""
    draws = rng(0, "spade_rewards", kind.name, seeds, repeats)
    p, q = ([side[seed % len(side)] for seed in range(seeds)] for side in (kind.p, kind.q))
    for _ in range(replications):
        yield estimate(*plays(draws, p, q, repeats), binary=True, estimator=estimator, resamples=999)


def average(kind: Archetype, name: str, seeds: int, repeats: int, replications: int) -> float:
    """The mean reward of a preset."""
    reward = preset(name)
    totals = [
        reward(evidence(found)).total for found in estimates(kind, seeds, repeats, 1 if kind.fixed else replications)
    ]
    return math.fsum(total for total in totals if total is not None) / len(totals)


def coverage(kind: Archetype, seeds: int, repeats: int, replications: int, estimator: Estimator) -> float:
    """How often the 95% interval of regret holds the true one."""
    true = sum(kind.q) / len(kind.q) - sum(kind.p) / len(kind.p)
    hits = 0
    for found in estimates(kind, seeds, repeats, replications, estimator):
        assert found.regret.low is not None and found.regret.high is not None
        hits += found.regret.low - 1e-9 <= true <= found.regret.high + 1e-9
    return hits / replications


def reward_table(replications: int = 1000) -> str:
    """What every preset pays for every archetype."""
    others = [name for name in PRESETS if name != "metagym"]
    lines = [f"| archetype (p, q) | {' | '.join(others)} | **metagym** 8 x 2 | 16 x 2 | 16 x 4 |"]
    lines.append("|---" * (len(others) + 4) + "|")
    for kind in ARCHETYPES:
        if kind.uniform:
            values = exact(kind.p[0], kind.q[0], *map(total, others))
        else:
            values = [average(kind, name, PLAYS, 1, replications) for name in others]
        cells = [f"{value:.3f}" for value in values]
        cells += [f"{average(kind, 'metagym', *size, replications):.3f}" for size in ((8, 2), (16, 2), (16, 4))]
        lines.append(f"| {kind.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def coverage_table(replications: int = 2000) -> str:
    """Coverage of the regret's 95% interval on 16 seeds."""
    designs: tuple[tuple[str, int, Estimator], ...] = (
        ("paired, 1 play", 1, "paired"),
        ("paired, 2 plays", 2, "paired"),
        ("unpaired, 1 play", 1, "unpaired"),
    )
    lines = [f"| (p, q) | {' | '.join(name for name, _, _ in designs)} |", "|---|---|---|---|"]
    for p, q in ((0.5, 0.5), (0.5, 0.9), (0.15, 0.6), (0.9, 1.0), (0.0, 0.05), (0.95, 1.0), (0.0, 1.0)):
        kind = Archetype(f"({p:g}, {q:g})", (p,), (q,))
        cells = [f"{coverage(kind, 16, repeats, replications, way):.3f}" for _, repeats, way in designs]
        lines.append(f"| {kind.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def correction_table(replications: int = 2000) -> str:
    """What the corrections of floored regret do on 16 seeds with one play each."""
    terms = [Regret(), Regret(correction="bias"), Regret(correction="lower_bound")]
    lines = ["| (p, q) | none | bias | lower bound |", "|---|---|---|---|"]
    for p, q in ((0.5, 0.5), (0.5, 0.95), (0.15, 0.6), (0.9, 1.0)):
        seen = [evidence(found) for found in estimates(Archetype(f"({p:g}, {q:g})", (p,), (q,)), 16, 1, replications)]
        means = [math.fsum(term.value(given) or 0.0 for given in seen) / replications for term in terms]
        lines.append(f"| ({p:g}, {q:g}) | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    return "\n".join(lines)


async def stopping_table(series: int = 1000) -> str:
    """What stopping early costs and saves: at most 24 seeds, six looks, alpha 5%."""
    lines = ["| (p, q) | stopped early | plays per arm | mean regret |", "|---|---|---|---|"]
    for p, q in ((0.5, 0.5), (0.5, 0.95), (0.2, 0.9), (0.0, 1.0)):

        async def player(program: Any, seed: int, hint: str | None, chances: Any, sampling_seed: int) -> Outcome:
            return Outcome(seed, success=rng(sampling_seed).random() < chances[hint is not None])

        rule, stopped, plays_, regret = Sequential(looks=6), 0, 0, 0.0
        for number in range(series):
            seeds = pair_seeds("stopping", number, 24)
            found = await estimate_regret("", (p, q), seeds, "hint", player=player, sequential=rule)
            stopped, plays_ = stopped + found.stopped_early, plays_ + found.plain.plays
            regret += found.regret.value or 0.0
        lines.append(f"| ({p:g}, {q:g}) | {stopped / series:.3f} | {plays_ / series:.1f} | {regret / series:+.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    for table in (reward_table(), coverage_table(), correction_table(), asyncio.run(stopping_table())):
        print(table, end="\n\n")
