"""Stage 8: policies without thought do not win, nor does the solution of another seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metagym.errors import ProgramKilled
from metagym.seeding import derive
from metagym.spade.program import EnvProgram
from metagym.spade.validation.policies import CONSTANTS, Form, constant, echo, nothing, reader, script
from metagym.spade.validation.report import Refusal
from metagym.spade.validation.settings import ValidationSettings
from metagym.spade.validation.walks import Plan, Player, Policy, Walk, play_all
from metagym.spade.validation.worth import Reference, won

OTHER = "solution of another seed"

_READER, _ONE = "random from the observation", "always '1'"
_OTHERS = 3
"""Solutions of other seeds that are tried on each seed."""

_FURTHER = 3
"""How many times as many seeds a policy is tried on again that won too often on the first ones."""


def exchanged(program: EnvProgram, player: Player, found: Sequence[Reference]) -> tuple[list[Walk], list[bool]]:
    """Plays on each seed the solutions of some other seeds, again and again to the end of the episode.

    They are well-formed actions that come deeper into a program than any policy without thought.

    Returns:
        The episodes, and whether each was won when the other solution had been played once.
    """
    played = [reference for reference in found if reference.actions]
    plans, once = [], []
    for index, reference in enumerate(played):
        for shift in range(1, min(_OTHERS, len(played) - 1) + 1):
            actions = played[(index + shift) % len(played)].actions
            once.append(len(actions))
            name, policy = f"solution of seed + {shift}", script(actions, again=True)
            private = frozenset(actions)
            plans.append(Plan(name, reference.walk.seed, policy, program.max_steps, after=True, private=private))
    walks = play_all(player, plans)
    wins = [won(program, walk) and len(walk.actions) <= length for walk, length in zip(walks, once, strict=True)]
    return walks, wins


def check_trivial(
    program: EnvProgram,
    player: Player,
    form: Form,
    found: Sequence[Reference],
    probes: Sequence[Walk],
    others: Sequence[bool],
    settings: ValidationSettings,
) -> tuple[dict[str, float], list[Walk]]:
    """Tries the policies; one that wins too often on a few seeds is judged on three times as many further ones.

    Args:
        program: The program.
        player: The program in its worker.
        form: How it takes actions.
        found: Its reference solutions.
        probes: The episodes of stage 4.
        others: For each solution that was tried on another seed, whether it won.
        settings: How much winning is too much.

    Returns:
        The share of episodes that each policy won (of the further ones where it was tried on them), and the episodes
        on the first seeds.

    Raises:
        Refusal: ``trivial_policy_wins``, ``solution_seed_independent``, or ``crash_on_garbage`` if a policy breaks the
            program.
    """
    policies: dict[str, Callable[[int], Policy]] = {
        "no-op": lambda index: nothing,
        "echo": lambda index: echo(form),
        **{f"always {word!r}": _always(form, word) for word in CONSTANTS},
    }
    seeds = [reference.walk.seed for reference in found]
    solutions = frozenset(action for reference in found for action in reference.actions)
    walks = _played(program, player, policies, seeds, solutions)
    outcomes: dict[str, list[bool]] = {}
    for walk in probes:
        outcomes.setdefault(_READER if walk.name.startswith("reader") else _ONE, []).append(won(program, walk))
    for walk in walks:
        outcomes.setdefault(walk.name, []).append(won(program, walk))
    outcomes[OTHER] = list(others)
    policies[_ONE] = _always(form, "1")
    policies[_READER] = lambda index: reader(form, settings.seed, program.digest, "further", index)
    policies[OTHER] = lambda index: script(found[index % len(found)].actions)
    suspects = {name: policies[name] for name in outcomes if _share(outcomes[name]) > settings.trivial_share}
    further = [derive(settings.seed, "further", program.digest, index) >> 32 for index in range(_FURTHER * len(seeds))]
    outcomes |= {name: [] for name in suspects}  # the first ones were picked for their luck, so they do not count
    for walk in _played(program, player, suspects, further, solutions):
        outcomes[walk.name].append(won(program, walk))
    shares = {name: _share(wins) for name, wins in outcomes.items()}
    best = max((name for name in shares if name != OTHER), key=lambda name: shares[name])
    if shares[best] > settings.trivial_share:
        raise Refusal(
            "trivial_policy_wins",
            f"the policy {best!r} wins {shares[best]:.0%} of the episodes without any thought (at most "
            f"{settings.trivial_share:.0%}): make success depend on what only reasoning finds",
        )
    if shares[OTHER] > settings.trivial_share:
        raise Refusal(
            "solution_seed_independent",
            f"the solution of one seed wins {shares[OTHER]:.0%} of the episodes of other seeds (at most "
            f"{settings.trivial_share:.0%}): let the seed change what must be done",
        )
    return shares, walks


def _always(form: Form, word: str) -> Callable[[int], Policy]:
    policy = constant(form, word)
    return lambda index: policy


def _played(
    program: EnvProgram,
    player: Player,
    policies: dict[str, Callable[[int], Policy]],
    seeds: Sequence[int],
    private: frozenset[str],
) -> list[Walk]:
    """Every policy on every seed; none may break the program."""
    plans = [
        Plan(name, seed, policy(index), program.max_steps, private=private)
        for name, policy in policies.items()
        for index, seed in enumerate(seeds)
    ]
    try:
        walks = play_all(player, plans)
    except ProgramKilled as error:
        raise Refusal.of_kill("crash_on_garbage", error) from None
    for walk in walks:
        if walk.error is not None:
            raise Refusal("crash_on_garbage", f"the policy {walk.name!r} broke the program: {walk.error}")
    return walks


def _share(wins: Sequence[bool]) -> float:
    return sum(wins) / len(wins) if wins else 0.0
