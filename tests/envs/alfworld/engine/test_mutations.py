"""How strong the golden transcripts are: one-line mistakes put into the engine, each of which they must show.

A mutant is the engine's source with one text replaced, executed as a package of its own. It is given exactly the
commands of the golden transcripts; the first answer that differs shows the mistake.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import metagym_envs.alfworld.engine as engine
from metagym_envs.alfworld.engine import Game
from tests.envs.alfworld.golden.record import PLANS, samples
from tests.envs.alfworld.golden.scripts import answer, follow

PACKAGE = engine.__name__
SOURCES = Path(engine.__file__).parent
IN_ORDER = (
    "wording",
    "names",
    "problem",
    "goal",
    "game",
    "menu",
    "observation",
    "play",
)  # each imports from those before it
ALL = ("by_hand", "generated")


@dataclass(frozen=True)
class Mistake:
    """Where, what stands there, and what a hasty author might have written."""

    name: str
    module: str
    right: str
    wrong: str


MISTAKES = [
    Mistake(
        "any visible object is examined",
        "play",
        "self.game.object_names[self.held] == rest else None",
        'self.game.object_names[self.held] == rest else (f"There\'s nothing special about {rest}." if any('
        "self.game.object_names[o] == rest for r in self.game.receptacles_at[self.here] for o in self.contents[r]"
        ") else None)",
    ),
    Mistake("initial coolness is ignored", "game", 'cool=self._bits("iscool", self.o)', "cool=0"),
    Mistake("a thing goes anywhere", "play", " or o not in game.accepts[r]", ""),
    Mistake("cool for cold", "play", "else 'cold'", "else 'cool'"),
    Mistake("inner objects are not shown", "game", "listing(inside.get(name, []))", "listing([])"),
    Mistake(
        "slicing needs reach",
        "play",
        "or self.here not in self.spots[o]:",
        "or not any(self._within_reach(r) and game.receptacle_location[r] == self.here for r in self.where[o]):",
    ),
    Mistake("the floor is always empty", "play", "{lead}{listing(floor)}.", "{lead}nothing."),
    Mistake("heating keeps cool", "play", "        self.cool &= ~bit\n", ""),
    Mistake("cooling keeps hot", "play", "        self.hot &= ~bit\n", ""),
    Mistake(
        "a thing in two places leaves both",
        "play",
        "        self.where[o] -= {r}\n",
        "        self.contents = [tuple(x for x in things if x != o) for things in self.contents]\n"
        "        self.where[o] = frozenset()\n",
    ),
    Mistake(
        "look before the first move lists the room",
        "play",
        'Looking quickly around you, you see nothing."',
        'Looking quickly around you, you see " + listing(["a " + n for n in game.receptacle_names]) + "."',
    ),
    Mistake(
        "going to the neighbour is accepted", "play", "r < 0 or game.receptacle_location[r] == self.here:", "r < 0:"
    ),
    Mistake("one receptacle is faced", "game", "for r in there]) if there", "for r in there[:1]]) if there"),
    Mistake(
        "a lamp goes off at its second use",
        "play",
        '        self.toggled |= 1 << o\n        self.won = game.goal(self)\n        return f"You turn on',
        "        self.toggled ^= 1 << o\n        self.won = game.goal(self)\n"
        "        return f\"You turn {'on' if self.toggled >> o & 1 else 'off'}",
    ),
    Mistake("the newest is listed last", "play", "tuple(sorted((*self.contents[r], o)))", "(*self.contents[r], o)"),
    Mistake(
        "heating needs an open microwave",
        "play",
        "        self.hot |= bit\n",
        "        if not self._within_reach(self.game.receptacle_number[holder]):\n            return None\n"
        "        self.hot |= bit\n",
    ),
    Mistake(
        "won stays true",
        "play",
        "        self.held = o\n        self.won = game.goal(self)\n",
        "        self.held = o\n        self.won = self.won or game.goal(self)\n",
    ),
    Mistake("case is ignored", "play", "command = command.strip()", "command = command.strip().lower()"),
    Mistake("inner blanks are folded", "play", "command = command.strip()", 'command = " ".join(command.split())'),
    Mistake("no comma before and", "names", '", and "', '" and "'),
    Mistake("numbers count up", "names", "{count - place}", "{place + 1}"),
]


@contextmanager
def mutant(mistake: Mistake | None) -> Iterator[tuple[Any, Any]]:
    """The engine with a mistake in it: its `Game` and its `Player`."""
    name = "engine_with_a_mistake"
    package = ModuleType(name)
    package.__path__ = []
    made = {name: package}
    sys.modules[name] = package
    try:
        for module in IN_ORDER:
            source = (SOURCES / f"{module}.py").read_text(encoding="utf-8")
            if mistake is not None and mistake.module == module:
                assert source.count(mistake.right) == 1, f"{mistake.right!r} stands {source.count(mistake.right)} times"
                source = source.replace(mistake.right, mistake.wrong)
            made[f"{name}.{module}"] = sys.modules[f"{name}.{module}"] = ModuleType(f"{name}.{module}")
            exec(compile(source.replace(PACKAGE, name), f"{module}.py", "exec"), vars(sys.modules[f"{name}.{module}"]))
        yield made[f"{name}.game"].Game, made[f"{name}.play"].Player
    finally:
        for module in made:
            del sys.modules[module]


@pytest.fixture(scope="module")
def transcripts() -> list[tuple[Any, list[tuple[str | None, Any]]]]:
    """Each golden game with its commands and answers, those that show most mistakes first."""
    found = []
    for name in ALL:
        plan = PLANS[name]
        for sample in samples(name, None):
            game = Game.compile(sample.problem, sample.task, plan.generation)
            for script, settings in plan.scripts.items():
                steps = zip(range(plan.most + 1), follow(game, script, sample.name, **settings), strict=False)
                found.append((sample, [(command, answer(seen)) for _, (command, seen) in steps]))
    return found


def first_difference(mistake: Mistake | None, transcripts: Any) -> tuple[str, int, str | None] | None:
    """(game, number of the answer, command) where the mutant first answers differently; None if it never does."""
    with mutant(mistake) as (game_class, player_class):
        for sample, steps in transcripts:
            player = player_class(game_class.compile(sample.problem, sample.task))
            for number, (command, expected) in enumerate(steps):
                if answer(player.reset() if command is None else player.step(command)) != expected:
                    return sample.name, number, command
    return None


def test_the_engine_without_a_mistake_passes(transcripts):
    assert first_difference(None, transcripts) is None
    assert sum(len(steps) for _, steps in transcripts) > 3000


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_the_golden_transcripts_show_the_mistake(mistake, transcripts):
    assert first_difference(mistake, transcripts) is not None


def test_there_are_twenty_one_mistakes():
    assert len({mistake.name for mistake in MISTAKES}) == 21
