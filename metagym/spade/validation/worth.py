"""Stages 7, 8 and 10: the reference solution wins, thoughtlessness does not, and it takes more than one step."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metagym.errors import BadInput, BadOutput, ProgramError, ProgramKilled
from metagym.spade.program import EnvProgram
from metagym.spade.validation.policies import CONSTANTS, Form, constant, echo, nothing, script
from metagym.spade.validation.report import Refusal
from metagym.spade.validation.settings import ValidationSettings
from metagym.spade.validation.walks import Plan, Player, Step, Walk, play_all

READER = "random from the observation"

_OTHERS = 3
"""Solutions of other seeds that are tried on each seed."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference solution on one seed.

    Attributes:
        walk: Its episode, as far as it came.
        hint: The program's hint on that seed; None where it has none.
        trouble: Why there is no whole episode; empty where there is. It holds nothing of the solution.
    """

    walk: Walk
    hint: str | None
    trouble: str = ""

    @property
    def actions(self) -> list[str]:
        """What it played."""
        return self.walk.actions


def references(program: EnvProgram, player: Player, seeds: Sequence[int]) -> list[Reference]:
    """Plays the reference solution on each seed; hint, state and solution come by the private channel.

    Raises:
        Refusal: ``oracle_fails`` if the worker was ended by it, ``bad_signature`` if a hint is no text.
    """
    try:
        return [_reference(program, player, seed) for seed in seeds]
    except ProgramKilled as error:
        raise Refusal.of_kill("oracle_fails", error) from None


def _reference(program: EnvProgram, player: Player, seed: int) -> Reference:
    walk = Walk("reference", seed)
    hint: str | None = None
    trouble = ""
    try:
        observation, info = player.reset(seed, fresh=True)
        walk.steps.append(Step(None, observation, info=info))
        hint = _hint(program, player)
        actions = _actions(player.ask("solution")) if "solution" in program.methods else None
        while not walk.over and len(walk.steps) <= program.max_steps:
            if actions is None:
                state = player.ask("state") if "state" in program.methods else None
                action = player.ask("reference_policy", walk.observation, state)
                if not isinstance(action, str):
                    raise _Trouble(f"reference_policy returned a {type(action).__name__}: return the action as text")
            elif len(walk.steps) > len(actions):
                break
            else:
                action = actions[len(walk.steps) - 1]
            walk.steps.append(Step(action, *player.step(action)))
        if walk.over:
            walk.after = _after(walk, player)
    except BadInput as error:  # observation and state are more than a call may hold
        trouble = f"reference_policy cannot be asked: {error}"
    except (ProgramError, BadOutput) as error:
        trouble = f"after {max(len(walk.steps) - 1, 0)} steps: {error}"
    except _Trouble as error:
        trouble = str(error)
    return Reference(walk, hint, trouble)


def _after(walk: Walk, player: Player) -> Step | None:
    """One step more, with the action that won; None where the program refuses it."""
    try:
        return Step(walk.actions[-1], *player.step(walk.actions[-1]))
    except (ProgramError, BadOutput):
        return None


class _Trouble(Exception):
    """The reference solution is no solution, in words without its content."""


def _actions(solution: Any) -> list[str]:
    if not isinstance(solution, list) or not all(isinstance(action, str) for action in solution):
        raise _Trouble("solution() must return a list of actions, each a text that step takes")
    if not solution:
        raise _Trouble("solution() returned no action")
    return solution


def _hint(program: EnvProgram, player: Player) -> str | None:
    if not program.has_hint:
        return None
    hint = player.ask("hint")
    if hint is not None and not isinstance(hint, str):
        raise Refusal("bad_signature", f"hint() returned a {type(hint).__name__}: return a text, or None")
    return hint


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
            policy = script(actions, again=True)
            plans.append(
                Plan(f"solution of seed + {shift}", reference.walk.seed, policy, program.max_steps, after=True)
            )
    walks = play_all(player, plans)
    won = [_won(program, walk) and len(walk.actions) <= length for walk, length in zip(walks, once, strict=True)]
    return walks, won


def check_references(program: EnvProgram, found: Sequence[Reference], settings: ValidationSettings) -> float:
    """Stage 7: the reference solution succeeds.

    Returns:
        The share of seeds on which it does.

    Raises:
        Refusal: ``oracle_fails``.
    """
    won = [_won(program, reference.walk) for reference in found]
    share = sum(won) / len(won)
    if share < settings.oracle_share - 1e-9:
        first = found[won.index(False)]
        walk = first.walk
        ended = "ended" if walk.over else "had not ended"
        how = first.trouble or f"after {len(walk.steps) - 1} steps the episode {ended} with a return of {walk.total:g}"
        raise Refusal(
            "oracle_fails",
            f"the reference solution succeeds on {sum(won)} of {len(won)} seeds; on seed {walk.seed}: {how}. It must "
            f"end the episode (terminated) with the greatest return, {program.reward_range[1]:g}",
        )
    return share


def check_trivial(
    program: EnvProgram,
    player: Player,
    form: Form,
    found: Sequence[Reference],
    probes: Sequence[Walk],
    others: Sequence[bool],
    settings: ValidationSettings,
) -> tuple[dict[str, float], list[Walk]]:
    """Stage 8: policies without thought, and the solutions of other seeds, do not win.

    Args:
        program: The program.
        player: The program in its worker.
        form: How it takes actions.
        found: Its reference solutions.
        probes: The episodes of stage 4.
        others: For each solution that was tried on another seed, whether it won.
        settings: How much winning is too much.

    Returns:
        The share of episodes that each policy won, and the episodes.

    Raises:
        Refusal: ``trivial_policy_wins`` or ``solution_seed_independent``.
    """
    plans = []
    steps = program.max_steps
    for reference in found:
        seed = reference.walk.seed
        plans.append(Plan("no-op", seed, nothing, steps))
        plans.append(Plan("echo", seed, echo(form), steps))
        for word in CONSTANTS:
            plans.append(Plan(f"always {word!r}", seed, constant(form, word), steps))
    try:
        walks = play_all(player, plans)
    except ProgramKilled as error:
        raise Refusal.of_kill("crash_on_garbage", error) from None
    outcomes: dict[str, list[bool]] = {}
    for walk in probes:
        name = READER if walk.name.startswith("reader") else "always '1'"
        outcomes.setdefault(name, []).append(_won(program, walk))
    for walk in walks:
        if walk.error is not None:
            raise Refusal("crash_on_garbage", f"the policy {walk.name!r} broke the program: {walk.error}")
        outcomes.setdefault(walk.name, []).append(_won(program, walk))
    shares = {name: sum(won) / len(won) for name, won in outcomes.items()}
    best = max(shares, key=lambda name: shares[name])
    if shares[best] > settings.trivial_share:
        raise Refusal(
            "trivial_policy_wins",
            f"the policy {best!r} wins {shares[best]:.0%} of the episodes without any thought (at most "
            f"{settings.trivial_share:.0%}): make success depend on what only reasoning finds",
        )
    share = sum(others) / len(others) if others else 0.0
    if share > settings.trivial_share:
        raise Refusal(
            "solution_seed_independent",
            f"the solution of one seed wins {share:.0%} of the episodes of other seeds (at most "
            f"{settings.trivial_share:.0%}): let the seed change what must be done",
        )
    return {**shares, "solution of another seed": share}, walks


def check_length(found: Sequence[Reference], settings: ValidationSettings) -> float:
    """Stage 10: the reference solution takes several steps.

    Returns:
        The median of its steps over the seeds.

    Raises:
        Refusal: ``single_step``.
    """
    steps = statistics.median(len(reference.actions) for reference in found)
    if steps < settings.min_steps:
        raise Refusal(
            "single_step",
            f"the reference solution takes {steps:g} steps (median over the seeds), and at least {settings.min_steps} "
            "are asked for: let each action change a state that the next one depends on",
        )
    return float(steps)


def _won(program: EnvProgram, walk: Walk) -> bool:
    total = walk.total
    return walk.error is None and math.isfinite(total) and program.solved(total, walk.terminated)
