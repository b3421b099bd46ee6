"""Stages 7 and 10: the reference solution wins, and it takes more than one step."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metagym.errors import BadInput, BadOutput, ProgramError, ProgramKilled
from metagym.spade.program import EnvProgram
from metagym.spade.validation.report import Refusal
from metagym.spade.validation.settings import ValidationSettings
from metagym.spade.validation.walks import Player, Step, Walk


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
            try:
                walk.steps.append(Step(action, *player.step(action)))
            except BadOutput as error:  # its form is wrong, which the contract stage says better
                walk.error = error
        if walk.over and walk.error is None:
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


def check_references(program: EnvProgram, found: Sequence[Reference], settings: ValidationSettings) -> float:
    """Stage 7: the reference solution succeeds.

    Returns:
        The share of seeds on which it does.

    Raises:
        Refusal: ``oracle_fails``.
    """
    wins = [won(program, reference.walk) for reference in found]
    share = sum(wins) / len(wins)
    if share < settings.oracle_share - 1e-9:
        first = found[wins.index(False)]
        walk = first.walk
        ended = "ended" if walk.over else "had not ended"
        how = first.trouble or f"after {len(walk.steps) - 1} steps the episode {ended} with a return of {walk.total:g}"
        raise Refusal(
            "oracle_fails",
            f"the reference solution succeeds on {sum(wins)} of {len(wins)} seeds; on seed {walk.seed}: {how}. It must "
            f"end the episode (terminated) with the greatest return, {program.reward_range[1]:g}",
        )
    return share


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


def won(program: EnvProgram, walk: Walk) -> bool:
    """Whether an episode was a success."""
    total = walk.total
    return walk.error is None and math.isfinite(total) and program.solved(total, walk.terminated)
