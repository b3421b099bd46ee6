"""Stage 5: the seed and the actions are all that an episode depends on, and the seed matters."""

from __future__ import annotations

from collections.abc import Sequence

from metagym.spade.validation.report import Refusal
from metagym.spade.validation.walks import Player, Walk, replay


def check_repeats(other: Player, walks: Sequence[Walk]) -> None:
    """Plays recorded episodes again in another process with another hash seed, in reverse order, in one session.

    Raises:
        Refusal: ``nondeterministic``.
    """
    backwards = list(reversed(walks))
    for first, second in zip(backwards, replay(other, backwards), strict=True):
        place = _difference(first, second)
        if place is not None:
            raise Refusal(
                "nondeterministic",
                f"the episode of seed {first.seed} went another way at {place} when it was played again (same seed, "
                "same actions, another process, after other episodes): draw from self.rng only, reset all state in "
                "reset, keep nothing in the class or the module, and sort sets before you use their order",
            )


def _difference(first: Walk, second: Walk) -> str | None:
    for number, (one, two) in enumerate(zip(first.steps, second.steps, strict=False)):
        if one.seen() != two.seen():
            return f"step {number}" if number else "reset"
    if len(first.steps) != len(second.steps) or (first.error is None) != (second.error is None):
        return f"step {min(len(first.steps), len(second.steps))}"
    return None


def check_seeds_matter(walks: Sequence[Walk], solutions: Sequence[Walk]) -> None:
    """Compares the episodes of different seeds, played by the same policies with the same draws, and the solutions.

    Where fewer than two seeds have a solution nothing is said: that is for stage 7 to tell.

    Raises:
        Refusal: ``seed_insensitive`` if nothing differs between any two seeds.
    """
    by_policy: dict[str, set[object]] = {}
    for walk in walks:
        trace = tuple((step.observation, step.reward, step.terminated, step.truncated) for step in walk.steps)
        by_policy.setdefault(walk.name, set()).add(trace)
    solved = {tuple(walk.actions) for walk in solutions}
    if len(solutions) > 1 and len(solved) == 1 and all(len(traces) == 1 for traces in by_policy.values()):
        raise Refusal(
            "seed_insensitive",
            "all seeds give the same episode: draw from self.rng in reset, so that each seed is a puzzle of its own",
        )
