"""Playing both arms of a program on equal terms, to the end of the budget or until the sign of its regret is clear."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metagym import stats
from metagym.checks import number, settle, shown, whole
from metagym.errors import BadInput
from metagym.playing import sync
from metagym.seeding import check_seed
from metagym.spade.estimates import ESTIMATORS, Arm, Estimator, RegretEstimate, estimate
from metagym.spade.outcomes import FAILURES, HINTED, PLAIN, Failure, Outcome, Player, pair_seeds, sampling_seed
from metagym.stats import CONFIDENCE

__all__ = [
    "ESTIMATORS",
    "FAILURES",
    "HINTED",
    "PLAIN",
    "Arm",
    "Estimator",
    "Failure",
    "Outcome",
    "Player",
    "RegretEstimate",
    "Sequential",
    "estimate",
    "estimate_regret",
    "estimate_regret_sync",
    "pair_seeds",
    "sampling_seed",
]


@dataclass(frozen=True, slots=True)
class Sequential:
    """Looks at the data while they come in, and stops as soon as the sign of the regret is clear.

    The seeds are played in `looks` equal portions; after each the estimate is made at confidence 1 - alpha / looks.

    What is guaranteed: with paired single binary plays the plays stop when McNemar's exact test gives
    p <= alpha / looks. If the true regret is 0 and seeds are drawn independently, a discordant pair falls to either
    side with equal chance, so each look errs with probability <= alpha / looks and, by the union bound, stopping early
    has probability <= alpha however dependent the looks are. With returns, repeats or unpaired arms the rule is that
    the interval excludes 0; the same bound then holds as far as the interval's own coverage does (approximate).

    What is not: the point estimate of a stopped series is not unbiased (it stopped because it was large), and more
    looks than planned, or looking at several programs and keeping the best, are not covered.

    Attributes:
        looks: Planned number of looks, the last one at the end of the budget included; >= 1.
        alpha: Chance of a false stop over all looks, in (0, 1).
    """

    looks: int = 4
    alpha: float = 1 - CONFIDENCE

    def __post_init__(self) -> None:
        """Checks the fields.

        Raises:
            BadInput: A field is out of range.
        """
        settle(self, "looks", whole, 1)
        settle(self, "alpha", number, 0.0, 1.0)
        if self.alpha in (0.0, 1.0):
            raise BadInput(f"alpha lies between 0 and 1, got {self.alpha:g}")


async def estimate_regret(
    program: Any,
    agent: Any,
    seeds: Sequence[int],
    hint: str | None,
    repeats: int = 1,
    *,
    player: Player,
    estimator: Estimator = "paired",
    sequential: Sequential | None = None,
    binary: bool = True,
    keep: Callable[[Outcome], None] | None = None,
) -> RegretEstimate:
    """Plays a program with and without a hint and estimates the regret.

    Both arms get the same seeds, repeats and treatment; only the hint differs. All plays of a portion start at once,
    and the result depends on none of their timing. The budget is ``len(seeds) * repeats`` plays per arm.

    Args:
        program: Handed to the player.
        agent: Handed to the player.
        seeds: For the program's resets, all different (`pair_seeds`).
        hint: The privileged hint; None plays the plain arm alone, and regret is unmeasured.
        repeats: Plays per seed and arm, >= 1; from 2 on within-seed learnability is measured.
        player: Plays once.
        estimator: ``"unpaired"`` plays the hinted arm on seeds of its own, derived from `seeds`, and compares the
            arms as unrelated samples: SPADE's own way, for ablations.
        sequential: Stop early by this rule; None plays the whole budget.
        binary: Score successes; otherwise returns.
        keep: Called with every outcome in a fixed order (portion, arm, seed, repeat). Plays of the plain arm may serve
            as training data; hinted ones saw what the agent will not see.

    Raises:
        BadInput: A setting is out of range, a seed stands twice, or the player returned no outcome.
    """
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise BadInput(f"seeds are a list of whole numbers, got {shown(seeds)}")
    planned = [check_seed(seed) for seed in seeds]
    if not planned or len(set(planned)) < len(planned):
        raise BadInput(f"seeds are at least one and all different, got {shown(list(seeds))}")
    whole("repeats", repeats, 1)
    if estimator not in ESTIMATORS:
        raise BadInput(f"estimator is one of {', '.join(ESTIMATORS)}, got {shown(estimator)}")
    if hint is not None and not isinstance(hint, str):
        raise BadInput(f"hint is a text or None, got {shown(hint)}")

    others = pair_seeds("unpaired", 0, len(planned), planned[0]) if estimator == "unpaired" else planned
    seeds_of = {PLAIN: dict(zip(planned, planned, strict=True)), HINTED: dict(zip(planned, others, strict=True))}

    async def once(arm: int, planned_seed: int, repeat: int) -> Outcome:
        seed, given = seeds_of[arm][planned_seed], hint if arm == HINTED else None
        outcome = await player(program, seed, given, agent, sampling_seed(arm, seed, repeat))
        if not isinstance(outcome, Outcome):
            raise BadInput(f"the player returned {shown(outcome)}, and must return an Outcome")
        return replace(outcome, arm=arm, seed=seed, repeat=repeat)

    arms = (PLAIN,) if hint is None else (PLAIN, HINTED)
    looks = 1 if sequential is None or hint is None else min(sequential.looks, len(planned))
    alpha = 1 - CONFIDENCE if sequential is None else sequential.alpha
    played: tuple[list[Outcome], list[Outcome]] = ([], [])
    for look in range(looks):
        portion = planned[len(planned) * look // looks : len(planned) * (look + 1) // looks]
        keys = [(arm, seed, repeat) for arm in arms for seed in portion for repeat in range(repeats)]
        for outcome in await _all(once, keys):
            played[outcome.arm].append(outcome)
            if keep is not None:
                keep(outcome)
        found = estimate(*played, binary=binary, estimator=estimator, confidence=1 - alpha / looks)
        if found.invalidated or (look < looks - 1 and _clear(found, played, repeats, alpha / looks)):
            break
    stopped = look < looks - 1 and not found.invalidated
    return replace(found, looks=look + 1, stopped_early=stopped)


def estimate_regret_sync(
    program: Any,
    agent: Any,
    seeds: Sequence[int],
    hint: str | None,
    repeats: int = 1,
    **settings: Any,
) -> RegretEstimate:
    """The ordinary twin of `estimate_regret`, with the same arguments, results and errors."""
    return sync.run(estimate_regret(program, agent, seeds, hint, repeats, **settings))


async def _all(once: Callable[..., Any], keys: Sequence[tuple[int, int, int]]) -> list[Outcome]:
    """All plays at once, results in the order of the keys; the first exception cancels the others."""
    tasks = [asyncio.ensure_future(once(*key)) for key in keys]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _clear(
    found: RegretEstimate, played: tuple[Sequence[Outcome], Sequence[Outcome]], repeats: int, level: float
) -> bool:
    if found.estimator == "paired" and found.binary and repeats == 1:
        sides = [{str(outcome.seed): outcome.success for outcome in arm} for arm in played]
        test = stats.mcnemar(*sides)
        return test.p is not None and test.p <= level
    low, high = found.regret.low, found.regret.high
    return low is not None and high is not None and (low > 0 or high < 0)
