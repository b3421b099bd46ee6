"""Household games of our own: deterministic in (split, type, index), about a millisecond each, with no download.

A *scene* (room kind and number) fixes the furniture; a *game* draws where things lie and what is asked. The splits
draw from disjoint scene numbers, so all three are unseen to each other: unlike the published ``valid_seen``, ours
shares no room with ``train``.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from metagym.errors import BadInput, UnknownName
from metagym.seeding import rng
from metagym_envs.alfworld import scenes
from metagym_envs.alfworld.engine.names import shown_names
from metagym_envs.alfworld.scenes import OPENABLE, ROOM_FOR, ROOM_FOR_OTHERS, ROOM_INITIAL, ROOMS, TASKS, THINGS, Room

GENERATOR = "metagym-household-1"
"""Name of this generator's output; changes whenever a seed gives another game."""

SPLITS: dict[str, range] = {"train": range(0, 80), "valid_seen": range(80, 100), "valid_unseen": range(100, 120)}
"""Split -> the scene numbers it draws from, for each room kind."""

SIZES: dict[str, int] = {"train": 600, "valid_seen": 100, "valid_unseen": 100}
"""Split -> games per task type in the split's task set. Any index >= 0 can be generated."""

_SCENE_BASE: dict[Room, int] = {"Kitchen": 1000, "LivingRoom": 2000, "Bedroom": 3000, "Bathroom": 4000}
_COPIES = (1, 3)
_CLUTTER = (10, 20)


@dataclass(frozen=True)
class GeneratedGame:
    """One game.

    Attributes:
        name: ``<type>-<Object>-None-<Target or Lamp>-<scene number>``, in the manner of the published games.
        split: Its split.
        type: Its task type.
        index: Its number within split and type.
        problem: The PDDL problem text.
        sentence: The task sentence, e.g. ``put two cloth in drawer``.
        walkthrough: Commands that win it, in the wording of the present engine ("move X to Y").
        params: What the task is about: ``object_target``, ``parent_target``, ``toggle_target``, ``mrecep_target``,
            ``object_sliced``, ``room`` and ``scene`` (an integer).
    """

    name: str
    split: str
    type: str
    index: int
    problem: str
    sentence: str
    walkthrough: tuple[str, ...]
    params: Mapping[str, Any]


@dataclass(frozen=True)
class Scene:
    """The furniture of one room.

    Attributes:
        room: Room kind.
        number: Scene number, unique over all rooms.
        receptacles: (id, type, location id) in order of drawing; each stands at a location of its own.
        start: Location id of the agent, where nothing stands.
    """

    room: Room
    number: int
    receptacles: tuple[tuple[str, str, str], ...]
    start: str


def generate(split: str, task_type: str, index: int) -> GeneratedGame:
    """Makes one game; the same arguments give the same bytes in any process and Python version.

    Args:
        split: ``train``, ``valid_seen`` or ``valid_unseen``.
        task_type: One of the six ALFWorld task types.
        index: >= 0.

    Raises:
        UnknownName: No such split or task type.
        BadInput: `index` is not a non-negative integer.
    """
    if split not in SPLITS:
        raise UnknownName(f"generated games have no split {split!r}; they have {', '.join(SPLITS)}")
    if task_type not in TASKS:
        raise UnknownName(f"no ALFWorld task type {task_type!r}; there are {', '.join(TASKS)}")
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise BadInput(f"the index of a generated game is a non-negative integer, got {index!r}")
    draw = rng(0, GENERATOR, "game", split, task_type, index)
    room = draw.choice(TASKS[task_type].rooms)
    scene = make_scene(room, draw.choice(SPLITS[split]))
    return _Draft(scene, task_type, draw).finish(split, index)


@lru_cache(maxsize=512)
def make_scene(room: Room, number: int) -> Scene:
    """The furniture of room number `number` (>= 0) of a kind."""
    draw = rng(0, GENERATOR, "scene", room, number)
    ids: set[str] = set()
    spots: list[str] = []

    def spot() -> str:
        while True:
            pose = (draw.randrange(-12, 13), draw.randrange(-12, 13), draw.randrange(4), draw.choice((30, 45, 60)))
            place = "loc" + "".join(f"_bar_{_signless(n)}" for n in pose)
            if place not in spots:
                spots.append(place)
                return place

    receptacles = tuple(
        (_fresh_id(draw, kind, ids), kind, spot())
        for kind, (fewest, most) in ROOMS[room].items()
        for _ in range(draw.randint(fewest, most))
    )
    return Scene(room, _SCENE_BASE[room] + number, receptacles, spot())


def fingerprint() -> str:
    """Digest of everything that decides what is generated: generator name, tables, splits."""
    tables = (GENERATOR, ROOMS, sorted(OPENABLE), ROOM_FOR, ROOM_FOR_OTHERS, SPLITS, SIZES, _COPIES, _CLUTTER, TASKS)
    things = [(name, t.rooms, sorted(t.places), sorted(t.traits)) for name, t in THINGS.items()]
    return hashlib.sha256(repr((tables, things)).encode()).hexdigest()[:16]


def _signless(number: int) -> str:
    return f"_minus_{-number}" if number < 0 else str(number)


def _coordinate(draw: random.Random, low: int, high: int) -> str:
    hundredths = draw.randrange(low, high)
    sign, size = ("minus", -hundredths) if hundredths < 0 else ("plus", hundredths)
    return f"_bar__{sign}_{size // 100:02d}_dot_{size % 100:02d}"


def _fresh_id(draw: random.Random, kind: str, used: set[str]) -> str:
    # The game shows what stands before the first "_bar_" and adds "basin" itself, so a SinkBasin is spelled
    # Sink_bar_..._bar_SinkBasin.
    head = kind.removesuffix("Basin")
    tail = f"_bar_{kind}" if head != kind else ""
    while True:
        name = f"{head}{_coordinate(draw, -400, 401)}{_coordinate(draw, 0, 201)}{_coordinate(draw, -400, 401)}{tail}"
        if name not in used:
            used.add(name)
            return name


@lru_cache(maxsize=4096)
def _choices(scene: Scene, task_type: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The objects that can be asked for in a scene, each with the target types that leave room to place it elsewhere.

    For the lamp task the targets are the lamps of the room.
    """
    task, initial = TASKS[task_type], ROOM_INITIAL[scene.room]
    kinds = Counter(kind for _, kind, _ in scene.receptacles)
    room_for = {kind: count * ROOM_FOR.get(kind, ROOM_FOR_OTHERS) for kind, count in kinds.items()}
    found = []
    for name, thing in THINGS.items():
        if initial not in thing.rooms or thing.lamp or (task.trait and task.trait not in thing.traits):
            continue
        places = sorted(thing.places & kinds.keys())
        if task.count == 0:
            enough = sum(room_for[p] for p in places) > _COPIES[1]
            targets = [n for n, t in THINGS.items() if t.lamp and initial in t.rooms] if enough else []
        else:
            targets = [
                target
                for target in places
                if target != task.device and sum(room_for[p] for p in places if p != target) >= _COPIES[1]
            ]
        if targets:
            found.append((name, tuple(targets)))
    return tuple(found)


class _Draft:
    """One game while it is being drawn."""

    def __init__(self, scene: Scene, task_type: str, draw: random.Random) -> None:
        self.scene, self.task_type, self.task, self.draw = scene, task_type, TASKS[task_type], draw
        self.kind = {rid: kind for rid, kind, _ in scene.receptacles}
        self.spot = {rid: spot for rid, _, spot in scene.receptacles}
        self.free = {rid: ROOM_FOR.get(kind, ROOM_FOR_OTHERS) for rid, kind, _ in scene.receptacles}
        self.ids: set[str] = set()
        self.things: list[tuple[str, str, str]] = []  # (id, type, receptacle)

    def place(self, kind: str, barred: str = "") -> tuple[str, str] | None:
        """Puts a new thing where there is room for it, never in the barred type; None where there is no room."""
        places = THINGS[kind].places
        fitting = [r for r, t in self.kind.items() if t in places and t != barred and self.free[r]]
        if not fitting:
            return None
        where = self.draw.choice(fitting)
        self.free[where] -= 1
        oid = _fresh_id(self.draw, kind, self.ids)
        self.things.append((oid, kind, where))
        return oid, where

    def finish(self, split: str, index: int) -> GeneratedGame:
        """Draws objects and task, and writes them down."""
        draw, task = self.draw, self.task
        obj, targets = draw.choice(_choices(self.scene, self.task_type))
        target = draw.choice(targets)
        lamp = self.place(target) if task.count == 0 else None
        copies = draw.randint(max(task.count, _COPIES[0]), _COPIES[1])
        # The target never holds one at the start, so nothing is won before the first command.
        wanted = [spot for _ in range(copies) if (spot := self.place(obj, "" if lamp else target))]
        initial = ROOM_INITIAL[self.scene.room]
        others = [n for n, t in THINGS.items() if initial in t.rooms and n != obj and not t.lamp]
        for _ in range(draw.randint(*_CLUTTER)):
            self.place(draw.choice(others))
        plan = self._walkthrough(wanted, target, lamp)
        params = {
            "object_target": obj,
            "parent_target": "" if lamp else target,
            "toggle_target": target if lamp else "",
            "mrecep_target": "",
            "object_sliced": False,
            "room": self.scene.room,
            "scene": self.scene.number,
        }
        sentence = draw.choice(task.sentences).format(obj=obj.lower(), recep=target.lower(), lamp=target.lower())
        return GeneratedGame(
            name=f"{self.task_type}-{obj}-None-{target}-{self.scene.number}",
            split=split,
            type=self.task_type,
            index=index,
            problem=self._problem(f"{split}_{index}", _goal(task, obj, target)),
            sentence=sentence,
            walkthrough=plan,
            params=MappingProxyType(params),
        )

    def _walkthrough(
        self, wanted: Sequence[tuple[str, str]], target: str, lamp: tuple[str, str] | None
    ) -> tuple[str, ...]:
        task, plan, opened = self.task, [], set()
        names = shown_names(full.lower() for full in (*self.kind, *(oid for oid, _, _ in self.things)))
        here = ""

        def go(rid: str, reach: bool = True) -> None:
            nonlocal here
            if here != rid:  # "go to" the place where one stands is no legal command
                plan.append(f"go to {names[rid.lower()]}")
                here = rid
            if reach and self.kind[rid] in OPENABLE and rid not in opened:
                opened.add(rid)
                plan.append(f"open {names[rid.lower()]}")

        def fetch(oid: str, rid: str) -> None:
            go(rid)
            plan.append(f"take {names[oid.lower()]} from {names[rid.lower()]}")

        if lamp:
            fetch(*wanted[0])
            go(lamp[1], reach=False)
            plan.append(f"use {names[lamp[0].lower()]}")
            return tuple(plan)
        end = self.draw.choice([rid for rid, kind in self.kind.items() if kind == target])
        for oid, rid in wanted[: task.count]:
            fetch(oid, rid)
            if task.verb:
                device = next(r for r, kind in self.kind.items() if kind == task.device)
                go(device, reach=False)
                plan.append(f"{task.verb} {names[oid.lower()]} with {names[device.lower()]}")
            go(end)
            plan.append(f"move {names[oid.lower()]} to {names[end.lower()]}")
        return tuple(plan)

    def _problem(self, tag: str, goal: str) -> str:
        otypes = sorted({kind for _, kind, _ in self.things})
        rtypes = sorted(set(self.kind.values()))
        lines = [f"(define (problem {self.task_type}_{tag})", "(:domain alfred)", "(:objects", "agent1 - agent"]
        lines += [f"{kind}Type - otype" for kind in otypes]
        lines += [f"{kind}Type - rtype" for kind in rtypes]
        lines += [f"{oid} - object" for oid, _, _ in self.things]
        lines += [f"{rid} - receptacle" for rid in self.kind]
        lines += [f"{spot} - location" for spot in (*self.spot.values(), self.scene.start)]
        lines += [")", "(:init"]
        for rid, kind, spot in self.scene.receptacles:
            lines += [f"(receptacleType {rid} {kind}Type)", f"(receptacleAtLocation {rid} {spot})"]
            if kind in OPENABLE:
                lines.append(f"(openable {rid})")
        for oid, kind, rid in self.things:
            lines += [
                f"(objectType {oid} {kind}Type)",
                f"(inReceptacle {oid} {rid})",
                f"(objectAtLocation {oid} {self.spot[rid]})",
            ]
            thing = THINGS[kind]
            lines += [f"({trait} {oid})" for trait in sorted(thing.traits)]
            if not thing.lamp:
                lines.append(f"(pickupable {oid})")
        lines += [f"(canContain {r}Type {o}Type)" for r in rtypes for o in otypes if r in THINGS[o].places]
        lines += [f"(atLocation agent1 {self.scene.start})", ")", goal, ")", ""]
        return "\n".join(lines)


def _goal(task: scenes.TaskType, obj: str, target: str) -> str:
    """The goal section. The order of quantifiers and facts is that of the published games."""
    if task.count == 0:
        return (
            "(:goal (and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) "
            f"(and (objectType ?ot {target}Type) (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l) "
            "(atLocation ?a ?l) (inReceptacle ?ot ?r))) "
            f"(exists (?o - object ?a - agent) (and (objectType ?o {obj}Type) (holds ?a ?o)))))"
        )
    if task.count == 2:
        first, second = (
            f"(objectType {o} {obj}Type) (receptacleType ?r {target}Type) (inReceptacle {o} ?r)" for o in ("?o1", "?o2")
        )
        return (
            f"(:goal (and (exists (?r - receptacle) (exists (?o1 - object) (and {first} "
            f"(exists (?o2 - object) (and (not (= ?o1 ?o2)) {second})))))))"
        )
    state = f"({task.trait} ?o) ({task.state} ?o) " if task.state else ""
    return (
        "(:goal (and (exists (?r - receptacle) (exists (?o - object) "
        f"(and {state}(objectType ?o {obj}Type) (receptacleType ?r {target}Type) (inReceptacle ?o ?r))))))"
    )
