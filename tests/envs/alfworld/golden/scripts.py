"""Ways to drive a game: a walk with broken commands, and a sweep that goes where walks do not.

A script is a generator: it yields commands and is sent the observation that each one brought. It reads the player's
state to choose, so the native engine always plays along; what is compared with what is the caller's business.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Generator, Iterator
from typing import Protocol

from metagym.seeding import rng
from metagym_envs.alfworld.engine import NOTHING_HAPPENS, Game, Observation, Player

Script = Generator[str, Observation, None]

# A walk goes and looks most of the time unless it is pushed.
_WEIGHTS = {"take": 6, "move": 4, "put": 4, "heat": 8, "cool": 8, "clean": 8, "slice": 10, "use": 5, "open": 6}


class Seen(Protocol):
    """What both engines give back."""

    @property
    def feedback(self) -> str: ...
    @property
    def admissible(self) -> list[str]: ...
    @property
    def won(self) -> bool: ...
    @property
    def score(self) -> int: ...
    @property
    def done(self) -> bool: ...


def answer(seen: Seen) -> tuple[str, tuple[str, ...], bool, int, bool]:
    """All that an engine says at one point, as a value to compare."""
    return seen.feedback, tuple(seen.admissible), seen.won, seen.score, seen.done


def broken(player: Player, admissible: list[str], draw: random.Random) -> str:
    """A command that a model might write and that mostly does nothing."""
    game, legal = player.game, draw.choice(admissible)

    def thing() -> str:
        return draw.choice(game.object_names or ("apple 1",))

    def holder() -> str:
        return draw.choice(game.receptacle_names)

    forms: tuple[Callable[[], str], ...] = (
        lambda: f"take {thing()} from {holder()}",
        lambda: f"move {thing()} to {holder()}",
        lambda: f"put {thing()} in/on {holder()}",
        lambda: f"open {holder()}",
        lambda: f"close {holder()}",
        lambda: f"examine {thing()}",
        lambda: f"examine {holder()}",
        lambda: f"go to {holder()}",
        lambda: f"go to {thing()}",
        lambda: f"use {thing()}",
        lambda: f"heat {thing()} with {holder()}",
        lambda: f"cool {thing()} with {holder()}",
        lambda: f"clean {thing()} with {holder()}",
        lambda: f"slice {thing()} with {thing()}",
        lambda: f"take {holder()} from {holder()}",
        lambda: legal + " 1",
        lambda: legal.upper(),
        lambda: f" {legal}\n",
        lambda: legal.replace(" ", "  "),
        lambda: legal[:-1],
        lambda: legal + ".",
        lambda: "go " + legal,
        lambda: "",
        lambda: "look around",
        lambda: "examine agent1",
    )
    return draw.choice(forms)()


def walk(player: Player, first: Observation, draw: random.Random, steps: int = 60, after: int = 12) -> Script:
    """Random commands, a fifth of them broken; then what wins; then some more, with the game won."""
    seen = first
    for _ in range(steps):
        legal = seen.admissible
        if draw.random() < 0.2:
            seen = yield broken(player, legal, draw)
        else:
            seen = yield draw.choices(legal, [_WEIGHTS.get(command.split()[0], 1) for command in legal])[0]
    yield from solve(player)
    seen = yield "look"
    for _ in range(after):
        acting = [command for command in seen.admissible if command.split()[0] in _WEIGHTS]
        seen = yield draw.choice(acting if acting and draw.random() < 0.7 else seen.admissible)


def sweep(player: Player, first: Observation, draw: random.Random, things: int = 4) -> Script:
    """Every receptacle visited and opened, things taken, examined, treated, sliced, moved next door; near misses."""
    game, put = player.game, player.game.wording
    names = game.receptacle_names
    yield from _say("look", "inventory", "help", f"examine {names[0]}")
    treated: set[frozenset[str]] = set()
    for r, name in enumerate(names):
        yield from _approach(player, r)
        yield from _say(
            f"go to {name}", "look", f"examine {name}", f"EXAMINE {name}", f"examine  {name}", f"close {name}"
        )
        if player.contents[r]:
            thing = game.object_names[player.contents[r][0]]
            yield from _say(f"take {thing} from {name}", f"{put.put_verb} {thing}{put.put_join}{name}")
            yield from _say(f"examine {thing}", f"use {thing}")
        yield from _put_down(player, r, draw)
        if player.held >= 0:
            return  # nothing takes it: some published games have such things
        yield from _approach(player, r, inside=True)
        yield f"open {name}"
        for o in player.contents[r][:things]:
            thing = game.object_names[o]
            yield from _say(f"examine {thing}", f"use {thing}")
            if (yield f"take {thing} from {name}").feedback == NOTHING_HAPPENS:
                continue
            yield from _say(f"examine {thing}", "inventory", "look", f"examine {name}", f"open {name}")
            if game.is_knife[o]:
                yield from _slice(player, o)
            elif game.object_types[o] not in treated and draw.random() < 0.6:
                treated.add(game.object_types[o])
                yield from _treat(player, o, draw)
            yield from _approach(player, r)
            near = [x for x in game.receptacles_at[game.receptacle_location[r]] if x != r and o in game.accepts[x]]
            if near and draw.random() < 0.7:
                neighbour = draw.choice(near)
                yield from _approach(player, neighbour, inside=True)
                yield from _say(f"{put.put_verb} {thing}{put.put_join}{names[neighbour]}", "look", f"examine {name}")
                if draw.random() < 0.5:
                    yield from _say(f"take {thing} from {names[neighbour]}", "look")
            yield from _put_down(player, r, draw)
            if player.held >= 0:
                return
            yield from _approach(player, r)
    yield from solve(player)
    if player.won and game.object_names:  # winning can be undone
        for r in game.receptacles_at[player.here]:
            for o in player.contents[r]:
                yield f"take {game.object_names[o]} from {names[r]}"
                yield f"{put.put_verb} {game.object_names[o]}{put.put_join}{names[r]}"


def solve(player: Player) -> Script:
    """What wins most games from most states. Simple, and fixed: golden transcripts hang on every command."""
    game, put = player.game, player.game.wording
    goal = game.problem[game.problem.index("(:goal") :].lower()
    kinds = dict(re.findall(r"\(objecttype (\?\w+) (\w+)\)", goal))
    lamp = re.search(r"\(istoggled (\?\w+)\)", goal)
    lamp_kind = kinds.pop(lamp.group(1)) if lamp else ""
    place = re.search(r"\(receptacletype \?\w+ (\w+)\)", goal)
    devices = {
        "isclean": ("clean", game.is_sink),
        "ishot": ("heat", game.is_microwave),
        "iscool": ("cool", game.is_fridge),
    }
    used: set[int] = set()
    for kind in kinds.values():
        if player.held >= 0:
            yield from _put_down(player, player.game.receptacles_at[player.here][0], random.Random(0))
        targets = [r for r, types in enumerate(game.receptacle_types) if place and place.group(1) in types]
        wanted = [o for o, types in enumerate(game.object_types) if kind in types and o not in used and player.where[o]]
        wanted.sort(key=lambda o: bool(player.where[o].intersection(targets[:1])))
        if not wanted or player.held >= 0:
            return
        o = wanted[0]
        used.add(o)
        r = min(player.where[o])
        yield from _approach(player, r, inside=True)
        yield f"take {game.object_names[o]} from {game.receptacle_names[r]}"
        for predicate, (verb, marked) in devices.items():
            if f"({predicate} " in goal and True in marked:
                yield from _approach(player, marked.index(True))
                yield f"{verb} {game.object_names[o]} with {game.receptacle_names[marked.index(True)]}"
        if targets:
            yield from _approach(player, targets[0], inside=True)
            yield f"{put.put_verb} {game.object_names[o]}{put.put_join}{game.receptacle_names[targets[0]]}"
    for o, types in enumerate(game.object_types):
        if lamp_kind in types and player.where[o] and not player.won:
            yield from _approach(player, min(player.where[o]))
            yield f"use {game.object_names[o]}"


def _say(*commands: str) -> Script:
    """Commands one after another, whatever they bring."""
    for command in commands:
        _ = yield command  # not "yield from": what is sent in must be taken


def _approach(player: Player, r: int, inside: bool = False) -> Script:
    game = player.game
    if game.receptacle_location[r] != player.here:
        yield f"go to {game.receptacle_names[r]}"
    if inside and game.openable[r] and not player.opened >> r & 1:
        yield f"open {game.receptacle_names[r]}"


def _put_down(player: Player, home: int, draw: random.Random) -> Script:
    """Puts what is held back into `home`, else wherever it fits."""
    if player.held < 0:
        return
    game, put, o = player.game, player.game.wording, player.held
    yield f"{put.put_verb} {game.object_names[o]}{put.put_join}{game.receptacle_names[home]}"
    fitting = [r for r in range(len(game.receptacle_names)) if o in game.accepts[r]]
    if player.held >= 0 and fitting:
        chosen = draw.choice(fitting)
        yield from _approach(player, chosen, inside=True)
        yield f"{put.put_verb} {game.object_names[o]}{put.put_join}{game.receptacle_names[chosen]}"


def _slice(player: Player, knife: int) -> Script:
    """Cuts whatever can be cut at four spots, and at one where there is nothing to cut."""
    game = player.game
    for there in [here for here, standing in enumerate(game.receptacles_at) if standing][:5]:
        yield from _approach(player, game.receptacles_at[there][0])
        for o in [o for o, sliceable in enumerate(game.sliceable) if sliceable][:6]:
            yield f"slice {game.object_names[o]} with {game.object_names[knife]}"


def _treat(player: Player, o: int, draw: random.Random) -> Script:
    game, thing = player.game, player.game.object_names[o]
    devices = {"clean": game.is_sink, "heat": game.is_microwave, "cool": game.is_fridge}
    verbs = [verb for verb, marked in devices.items() if any(marked)]
    draw.shuffle(verbs)
    for verb in verbs + [draw.choice(verbs) for _ in range(2) if verbs]:
        device = devices[verb].index(True)
        yield from _approach(player, device)
        yield from _say(f"{verb} {thing} with {game.receptacle_names[device]}", f"examine {thing}")


SCRIPTS: dict[str, Callable[..., Script]] = {"walk": walk, "sweep": sweep}


def follow(game: Game, script: str, seed: str, **settings: int) -> Iterator[tuple[str | None, Observation]]:
    """Plays a script on the native engine; yields each command (None: the reset) with what it brought."""
    player = Player(game)
    seen = player.reset()
    yield None, seen
    commands = SCRIPTS[script](player, seen, rng(0, "script", script, seed), **settings)
    command = next(commands, None)
    while command is not None:
        seen = player.step(command)
        yield command, seen
        try:
            command = commands.send(seen)
        except StopIteration:
            return


class Digest:
    """A running digest of a transcript, noted every 25 answers and at the end."""

    def __init__(self, every: int = 25) -> None:
        self._digest, self._every = hashlib.sha256(), every
        self.count = 0
        self.marks: list[str] = []

    def add(self, command: str | None, seen: Seen) -> None:
        self._digest.update(json.dumps([command, *answer(seen)]).encode())
        self.count += 1
        if self.count % self._every == 0:
            self.marks.append(self._digest.hexdigest()[:12])

    def result(self) -> dict[str, object]:
        return {"answers": self.count, "marks": [*self.marks, self._digest.hexdigest()[:12]]}


def transcript(game: Game, script: str, seed: str, **settings: int) -> dict[str, object]:
    """The digest of a script played on the native engine."""
    digest = Digest()
    for command, seen in follow(game, script, seed, **settings):
        digest.add(command, seen)
    return digest.result()
