"""The ALFWorld family: tasks, how to open one, the cleaning rule, the scripted stand-ins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from metagym.errors import BadInput
from metagym.families import Family
from metagym.tasks import Task
from metagym_envs.alfworld import text
from metagym_envs.alfworld.data import FAMILY, Games, GameText, games_for
from metagym_envs.alfworld.env import ENGINES, ALFWorldGame, EngineChoice, open_game, real_engine_versions


def ALFWorld(engine: EngineChoice = "auto", data: str = "auto", expert_plan: bool = False) -> Family:
    """Household tasks told in text.

    Args:
        engine: ``"native"``: our own engine; ``"textworld"``: the real one (extra ``alfworld``), in worker processes;
            ``"auto"``: ours where it knows the game, else the real one, else an error. Which one played stands in
            ``info["engine"]``.
        data: ``"generated"``: our own games; ``"published"``: those that ``ALFWORLD_DATA`` names; ``"auto"``: published
            where that variable is set, else generated.
        expert_plan: Put commands that win from the present state into every ``info["expert_plan"]``.

    Returns:
        The family. Its `versions` tell data kind and digest, number of games, engine and grammar generation.

    Raises:
        BadInput: An unknown engine or kind of data, an unreadable file, or a wrong version of the real engine.
        NoTasks: Published games are asked for and there are none.
        MissingExtra: ``engine="textworld"`` is asked for and not installed.
    """
    if engine not in ENGINES:
        raise BadInput(f"engine is one of {', '.join(ENGINES)}, got {engine!r}")
    if not isinstance(expert_plan, bool):
        raise BadInput(f"expert_plan is True or False, got {expert_plan!r}")
    games = games_for(data)
    plays, versions = _engine_versions(games, engine)
    return Family(
        name=FAMILY,
        tasks=games.tasks,
        open=_Opener(games, engine, expert_plan),
        splits=games.splits,
        clean=text.clean_command,
        identity=_identity,
        instructions=text.INSTRUCTIONS,
        max_steps=50,
        host="process" if plays == "textworld" else "inline",
        stand_ins={"actor": _rules_actor, "reflector": _rules_reflector},
        versions={**games.describe(), **versions},
        options={"engine": engine, "data": data, "expert_plan": expert_plan},
    )


def _identity(task: Task) -> str:
    """A published game's path without its split: ``valid_train`` samples ``train``."""
    return task.id.removeprefix(f"{task.split}/")


@dataclass(frozen=True)
class _Opener:
    """Opens tasks; a class, since a worker process gets it by value."""

    games: Games
    engine: EngineChoice
    expert_plan: bool

    def __call__(self, task: Task) -> ALFWorldGame:
        return ALFWorldGame(_text_of(self.games, task), self.engine, self.expert_plan)


@lru_cache(maxsize=256)
def _text_of(games: Games, task: Task) -> GameText:
    """A replayed task is read or generated once."""
    return games.game(task)


def _engine_versions(games: Games, engine: EngineChoice) -> tuple[str, dict[str, Any]]:
    """Which engine plays, told by the first game, and what manifests say of it."""
    from metagym import __version__

    first = games.game(games.tasks(games.splits[0])[0])
    plays, grammar, _ = open_game(first, engine)
    return plays, {
        "engine": plays,
        "engine_versions": real_engine_versions() if plays == "textworld" else {"metagym": __version__},
        "grammar": grammar,
    }


def _rules_actor(seed: int) -> Any:
    from metagym_envs.alfworld import rules

    return rules.actor(seed)


def _rules_reflector(seed: int) -> Any:
    from metagym_envs.alfworld import rules

    return rules.reflector(seed)
