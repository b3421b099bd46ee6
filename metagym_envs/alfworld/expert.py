"""A scripted expert that sees the whole state: from anywhere in a game to commands that win it.

It reads the goal from the problem itself, tries its few sensible plans on clones of the player, and returns the
shortest that wins. So every plan it returns has been played; it takes well under a millisecond. Uses: imitation
data, an upper bound, a measure of difficulty. (The planner of the real engine needs seconds a step and may hang.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from metagym.errors import EngineUnsupported
from metagym_envs.alfworld.engine import NOTHING_HAPPENS, Game, Player

_TARGETS_TRIED = 4
_OBJECTS_TRIED = 6
_STATES = {"isclean": "clean", "ishot": "hot", "iscool": "cool"}
_VERBS = {"clean": "clean", "hot": "heat", "cool": "cool"}
_FACT = re.compile(r"\(\s*([a-z]+)\s+(\?[^\s()]+)(?:\s+([^\s()]+))?\s*\)")


@dataclass(frozen=True)
class Aim:
    """What a game asks for, read from its goal.

    Attributes:
        object_type: Type of the object, in lower case, e.g. ``"appletype"``.
        count: How many of them are to be brought; 0: one is to be held under a lamp.
        target_type: Type of the receptacle they belong in ("" for the lamp task).
        lamp_type: Type of the lamp ("" otherwise).
        state: ``"clean"``, ``"hot"``, ``"cool"``, or "" where the object may be as it is.
    """

    object_type: str
    count: int
    target_type: str = ""
    lamp_type: str = ""
    state: str = ""


_aims: WeakKeyDictionary[Game, Aim] = WeakKeyDictionary()


def aim_of(game: Game) -> Aim:
    """What `game` asks for.

    Raises:
        EngineUnsupported: The goal is of none of the six task types.
    """
    found = _aims.get(game)
    if found is None:
        text = game.problem.lower()
        found = _aims[game] = _read_aim(text[text.rindex("(:goal") :], game.task)
    return found


def _read_aim(goal: str, task: str) -> Aim:
    types: dict[str, str] = {}
    targets: set[str] = set()
    states: set[str] = set()
    held = lamp = ""
    predicates = set()
    for predicate, first, second in _FACT.findall(goal):
        predicates.add(predicate)
        if predicate == "objecttype":
            types[first] = second
        elif predicate == "receptacletype":
            targets.add(second)
        elif predicate in _STATES:
            states.add(_STATES[predicate])
        elif predicate == "istoggled":
            lamp = first
        elif predicate == "holds":
            held = second
    if "issliced" not in predicates:
        if held in types and lamp in types and not targets and not states:
            return Aim(types[held], 0, lamp_type=types[lamp])
        kinds = set(types.values())
        if len(kinds) == 1 and len(targets) == 1 and len(states) <= 1 and len(types) <= 2 and not held and not lamp:
            return Aim(kinds.pop(), len(types), target_type=targets.pop(), state="".join(states))
    raise EngineUnsupported(f"the scripted expert knows the six ALFWorld task types; {task!r} is none of them")


def plan(player: Player) -> list[str]:
    """Commands that win the game from where `player` stands; the player itself is not touched.

    Returns:
        The commands, in the wording of the game's generation; the last one wins. Empty where the game is won already,
        and where no plan is known (e.g. the thing in hand fits in no receptacle: some published games have such).

    Raises:
        EngineUnsupported: The goal is of none of the six task types.
    """
    if player.won:
        return []
    aim = aim_of(player.game)
    best: list[str] = []
    for script in _scripts(player, aim):
        run = _Run(player.clone(), len(best) - 1 if best else 60)
        try:
            script(run)
        except _Done:
            if run.player.won:
                best = run.commands
    return best


class _Done(Exception):
    """The game is won, or this plan is no better than the best one, or it cannot go on."""


class _Run:
    """One plan while it is tried on a clone."""

    def __init__(self, player: Player, most: int) -> None:
        self.player, self.game, self.most = player, player.game, most
        self.commands: list[str] = []

    def do(self, command: str) -> None:
        if len(self.commands) >= self.most:
            raise _Done
        self.commands.append(command)
        answer = self.player.step(command)
        if answer.won or answer.feedback == NOTHING_HAPPENS:
            raise _Done

    def distance(self, r: int, inside: bool = True) -> int:
        """Commands needed before something can be done with receptacle `r`."""
        away = self.game.receptacle_location[r] != self.player.here
        return away + (inside and self.game.openable[r] and not self.player.opened >> r & 1)

    def go(self, r: int, inside: bool = True) -> None:
        name = self.game.receptacle_names[r]
        if self.game.receptacle_location[r] != self.player.here:
            self.do(f"go to {name}")
        if inside and self.game.openable[r] and not self.player.opened >> r & 1:
            self.do(f"open {name}")

    def nearest(self, receptacles: Iterable[int], inside: bool = True) -> int:
        found = min(receptacles, key=lambda r: self.distance(r, inside), default=-1)
        if found < 0:
            raise _Done
        return found

    def put_down(self, receptacles: Iterable[int]) -> None:
        """Puts what is held into the nearest of these receptacles that takes it."""
        game, o = self.game, self.player.held
        r = self.nearest(r for r in receptacles if o in game.accepts[r])
        self.go(r)
        self.do(f"{game.wording.put_verb} {game.object_names[o]}{game.wording.put_join}{game.receptacle_names[r]}")

    def fetch(self, o: int, r: int) -> None:
        """Takes object `o` out of receptacle `r`, with whatever is in hand put down first."""
        if self.player.held == o:
            return
        if self.player.held >= 0:
            self.put_down(range(len(self.game.receptacle_names)))
        self.go(r)
        self.do(f"take {self.game.object_names[o]} from {self.game.receptacle_names[r]}")

    def treat(self, state: str) -> None:
        """Makes what is held clean, hot or cool, if it is not."""
        game, o = self.game, self.player.held
        if not state or getattr(self.player, state) >> o & 1:
            return
        devices = {"clean": game.is_sink, "hot": game.is_microwave, "cool": game.is_fridge}[state]
        r = self.nearest((r for r, is_one in enumerate(devices) if is_one), inside=False)
        self.go(r, inside=False)
        self.do(f"{_VERBS[state]} {game.object_names[o]} with {game.receptacle_names[r]}")


_Script = Callable[[_Run], None]


def _scripts(player: Player, aim: Aim) -> Iterable[_Script]:
    """The plans worth trying."""
    game = player.game
    wanted = [o for o, kinds in enumerate(game.object_types) if aim.object_type in kinds]
    look = _Run(player, 0)
    # (object, where to take it from), the nearest first; what is in hand need not be taken
    sources = [(o, r) for o in wanted if game.pickupable[o] and o != player.held for r in sorted(player.where[o])]
    sources.sort(key=lambda source: (look.distance(source[1]), source))
    if player.held in wanted:
        sources.insert(0, (player.held, -1))
    targets = [r for r, kinds in enumerate(game.receptacle_types) if aim.target_type in kinds]
    if aim.count == 2:
        return _pair_scripts(player, look, sources, targets)
    if aim.count == 0:
        lamps = [o for o, kinds in enumerate(game.object_types) if aim.lamp_type in kinds and game.toggleable[o]]
        return [_lamp_script(o, r, lamps) for o, r in sources[:_OBJECTS_TRIED]]
    return [_bring_script([(o, r)], targets, aim.state) for o, r in sources[:_OBJECTS_TRIED]]


def _bring_script(sources: list[tuple[int, int]], targets: list[int], state: str) -> _Script:
    def script(run: _Run) -> None:
        for o, r in sources:
            run.fetch(o, r)
            run.treat(state)
            run.put_down(targets)

    return script


def _pair_scripts(player: Player, look: _Run, sources: list[tuple[int, int]], targets: list[int]) -> list[_Script]:
    """Both things must end in one and the same receptacle; those that hold one already come first."""

    def missing(target: int) -> int:
        return 2 - sum(target in player.where[o] for o in {o for o, _ in sources})

    scripts = []
    for target in sorted(targets, key=lambda r: (missing(r), look.distance(r), r))[:_TARGETS_TRIED]:
        chosen: dict[int, int] = {}
        for o, r in sources:
            if target not in player.where[o]:
                chosen.setdefault(o, r)
        scripts.append(_bring_script(list(chosen.items())[:2], [target], ""))
    return scripts


def _lamp_script(o: int, r: int, lamps: list[int]) -> _Script:
    def script(run: _Run) -> None:
        run.fetch(o, r)
        stands = {r: lamp for lamp in reversed(lamps) for r in run.player.where[lamp]}
        # A lamp that was used before only has to be visited.
        spot = min(
            stands,
            key=lambda r: run.distance(r, inside=False) + (not run.player.toggled >> stands[r] & 1),
            default=-1,
        )
        if spot < 0:
            raise _Done
        run.go(spot, inside=False)
        run.do(f"use {run.game.object_names[stands[spot]]}")

    return script
