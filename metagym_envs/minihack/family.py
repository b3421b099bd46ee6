"""The MiniHack family: tasks, how to open one, the cleaning rule, the scripted stand-ins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metagym.families import Family
from metagym.tasks import Task
from metagym_envs.minihack import commands as words
from metagym_envs.minihack.engine import engine_versions
from metagym_envs.minihack.env import MiniHackGame, Prompts, Settings
from metagym_envs.minihack.tasks import FAMILY, Levels, choose_levels

INSTRUCTIONS = (
    "You play a small level of NetHack, told in text: the game's message, a map in which you are @, what is near you, "
    "what you carry. Signs on the map: . floor, # corridor, - and | walls (or open doors), + closed door, > staircase "
    "down, < staircase up, } water or lava, ` boulder, letters creatures, other signs things. You act by writing one "
    "command per turn. Moves: step <direction>, or run <direction> until something comes up; directions are north, "
    "northeast, east, southeast, south, southwest, west, northwest. Other commands, where the level has them: "
    + "; ".join(
        f"{verb.name}{' <' + verb.takes.replace(' or ', '> <') + '>' if verb.takes else ''} ({verb.does})"
        for verb in words.VERBS
    )
    + ". Name a thing by its letter or name. A command that the level does not have changes nothing."
)
"""What the actor is told of the world; it names every command and gives no advice."""


def MiniHack(
    levels: str | Sequence[str] | None = None,
    tasks_per_type: int = 500,
    prompts: Prompts = "auto",
    tell_goal: bool = True,
    give_up_after: int | None = None,
    commands: str = "skill",
    goal: str | None = None,
) -> Family:
    """Small levels of NetHack, played by the real engine (extra ``minihack``).

    Args:
        levels: None for the default pool, whose types Read, Wear and KeyRoom are held out; else ids of MiniHack
            (``"Room-5x5"``), ``.des`` files, or folders of them.
        tasks_per_type: Training tasks of each task type, 1 to 10,000; its levels share the seeds.
        prompts: ``"auto"`` or ``"text"``: what answers the game's questions, see `metagym_envs.minihack.env.Settings`.
        tell_goal: Begin with the task's sentence.
        give_up_after: End a game after so many actions in a row that were no commands; None never does.
        commands: For one's own levels: ``"skill"`` (all commands, a caveman) or ``"navigation"`` (moves, a rogue).
        goal: For one's own levels: the task's sentence; None means the staircase down.

    Returns:
        The family. Its `versions` tell the engine's versions and a digest of the levels.

    Raises:
        MissingExtra: nle or minihack is not installed; the message holds the pip command.
        BrokenExtra: One of them does not import; the message says why.
        BadInput: A setting or a level is not usable.
        UnknownName: There is no such level.
        NoTasks: No level is left.
    """
    settings = Settings(prompts, tell_goal, give_up_after)
    versions = engine_versions()
    chosen = choose_levels(levels, tasks_per_type, commands, goal)
    return Family(
        name=FAMILY,
        tasks=chosen.tasks,
        open=_Opener(chosen, settings),
        splits=chosen.splits,
        clean=words.clean,
        instructions=INSTRUCTIONS,
        max_steps=50,
        host="thread",
        stand_ins={"actor": _rules_actor, "reflector": _rules_reflector},
        versions={
            "engine": "nle",
            "engine_versions": dict(versions),
            "levels": len(chosen.seen) + len(chosen.held_out),
            "levels_digest": chosen.digest,
        },
        options={
            "levels": levels if levels is None or isinstance(levels, str) else list(levels),
            "tasks_per_type": chosen.per_type,
            "prompts": prompts,
            "tell_goal": settings.tell_goal,
            "give_up_after": settings.give_up_after,
            "commands": commands,
            "goal": goal,
        },
    )


@dataclass(frozen=True)
class _Opener:
    """Opens tasks; a class, since a worker process gets it by value."""

    levels: Levels
    settings: Settings

    def __call__(self, task: Task) -> MiniHackGame:
        return MiniHackGame(self.levels.level(task), self.settings)


def _rules_actor(seed: int) -> Any:
    from metagym_envs.minihack import rules

    return rules.actor(seed)


def _rules_reflector(seed: int) -> Any:
    from metagym_envs.minihack import rules

    return rules.reflector(seed)
