"""Playing a game directly: generated games, the native engine, the seat's own conversation."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from metagym.playing.actor import ActorSettings, Conversation
from metagym_envs.alfworld.engine import Game, Observation, Player
from metagym_envs.alfworld.generator import generate
from metagym_envs.alfworld.scenes import TASK_TYPES
from metagym_envs.alfworld.text import INSTRUCTIONS


@lru_cache
def game(number: int, generation: str = "0.4") -> Game:
    """One of the generated games, types taking turns."""
    made = generate("train", list(TASK_TYPES)[number % 6], number)
    return Game.compile(made.problem, made.sentence, generation)


def conversation(prompt: str = "", **seat: object) -> Conversation:
    return Conversation(prompt, INSTRUCTIONS, ActorSettings(**seat))  # type: ignore[arg-type]


def walk(number: int, seed: int, steps: int = 30, generation: str = "0.4") -> Iterator[tuple[Player, str, Observation]]:
    """A random walk: the player, the command that led here ("" at the start), and what it saw."""
    player = Player(game(number, generation))
    seen = player.reset()
    draw = random.Random(seed)
    yield player, "", seen
    for _ in range(steps):
        # Common commands are many: rarer ones get their turn by drawing the verb first.
        verbs = sorted({command.split()[0] for command in seen.admissible})
        verb = draw.choice(verbs)
        command = draw.choice([c for c in seen.admissible if c.split()[0] == verb])
        seen = player.step(command)
        yield player, command, seen


def benchmark() -> ModuleType:
    """benchmarks/stand_ins.py as a module: it defines what is measured."""
    path = Path(__file__).parents[4] / "benchmarks" / "stand_ins.py"
    spec = importlib.util.spec_from_file_location("stand_ins_benchmark", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
