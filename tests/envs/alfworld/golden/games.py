"""Games to test with: generated ones, hand-made ones for rare rules, and the published ones where they are at hand."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from metagym.seeding import rng
from metagym_envs.alfworld.generator import SPLITS, generate
from metagym_envs.alfworld.scenes import TASKS

PUBLISHED = Path("data/alfworld/games_474.jsonl.xz")  # below the folder of test material


@dataclass(frozen=True)
class Sample:
    """One game as text."""

    name: str
    problem: str
    task: str


def generated(first: int, last: int) -> Iterator[Sample]:
    """Our own games, the task types in turn."""
    kinds, splits = list(TASKS), list(SPLITS)
    for number in range(first, last):
        game = generate(splits[number % len(splits)], kinds[number % len(kinds)], 5000 + number)
        yield Sample(f"generated-{number}", game.problem, game.sentence)


def published(material: Path) -> list[Sample]:
    """The 474 published games, in an order that mixes types and splits."""
    with lzma.open(material / PUBLISHED, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rng(7, "order of the published games").shuffle(rows)
    return [Sample(row["name"], row["problem"], row["task"]) for row in rows]


def write_problem(
    receptacles: Mapping[str, tuple[str, str]],
    things: Mapping[str, tuple[str, Iterable[str], Iterable[str]]],
    goal: str,
    *,
    extra: Iterable[str] = (),
    start: str = "loc_bar_0",
    accepts: Mapping[str, Iterable[str]] | None = None,
) -> str:
    """A problem text by hand.

    Args:
        receptacles: id -> (type, location); a type that ends with ``!`` is openable.
        things: id -> (type, receptacles it is in, predicates that hold of it). It is recorded at the location of each
            receptacle.
        goal: The goal expression.
        extra: More facts, without parentheses.
        start: Location of the agent.
        accepts: Receptacle type -> object types; all accept all by default.
    """
    rtypes = {name: kind.rstrip("!") for name, (kind, _) in receptacles.items()}
    otypes = sorted({kind for kind, _, _ in things.values()})
    facts = [f"atLocation agent1 {start}", *extra]
    for name, (kind, spot) in receptacles.items():
        facts += [f"receptacleType {name} {rtypes[name]}Type", f"receptacleAtLocation {name} {spot}"]
        facts += [f"openable {name}"] if kind.endswith("!") else []
    for name, (kind, holders, predicates) in things.items():
        facts += [f"objectType {name} {kind}Type", *(f"{predicate} {name}" for predicate in predicates)]
        for holder in holders:
            facts += [f"inReceptacle {name} {holder}", f"objectAtLocation {name} {receptacles[holder][1]}"]
    for rtype in sorted(set(rtypes.values())):
        for otype in otypes if accepts is None else accepts.get(rtype, ()):
            facts.append(f"canContain {rtype}Type {otype}Type")
    declared = ["agent1 - agent", *(f"{kind}Type - otype" for kind in otypes)]
    declared += [f"{kind}Type - rtype" for kind in sorted(set(rtypes.values()))]
    declared += [f"{name} - object" for name in things] + [f"{name} - receptacle" for name in receptacles]
    declared += [f"{spot} - location" for spot in sorted({start, *(spot for _, spot in receptacles.values())})]
    return "(define (problem by_hand)\n(:domain alfred)\n(:objects\n{}\n)\n(:init\n{}\n)\n(:goal {})\n)\n".format(
        "\n".join(declared), "\n".join(f"({fact})" for fact in facts), goal
    )


def bring_goal(thing: str, place: str, state: str = "") -> str:
    """The goal of bringing one thing to a place, in a state such as ``isHot``."""
    extra = f"({state} ?o)" if state else ""
    return (
        f"(and (exists (?r - receptacle) (exists (?o - object) (and {extra} (inReceptacle ?o ?r) "
        f"(objectType ?o {thing}Type) (receptacleType ?r {place}Type)))))"
    )


TWO_GOAL = (
    "(and (exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 MugType) (receptacleType ?r ShelfType) "
    "(inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2)) (objectType ?o2 MugType) "
    "(receptacleType ?r ShelfType) (inReceptacle ?o2 ?r)))))))"
)
LIGHT_GOAL = (
    "(and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (objectType ?ot DeskLampType) "
    "(toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r))) "
    "(exists (?o - object ?a - agent) (and (objectType ?o BookType) (holds ?a ?o))))"
)
_TAKE = ("pickupable",)
_FOOD = ("pickupable", "heatable", "coolable", "cleanable", "sliceable")


def by_hand() -> list[Sample]:
    """Small games, each full of cases that published games hold rarely."""
    kitchen = write_problem(
        {
            "Fridge_bar_1": ("Fridge!", "loc_bar_1"),
            "Microwave_bar_1": ("Microwave!", "loc_bar_2"),
            "Sink_bar_1_bar_SinkBasin": ("SinkBasin", "loc_bar_3"),
            "Sink_bar_1": ("Sink", "loc_bar_3"),
            "CounterTop_bar_1": ("CounterTop", "loc_bar_4"),
            "Cabinet_bar_1": ("Cabinet!", "loc_bar_4"),
            "Drawer_bar_1": ("Drawer!", "loc_bar_4"),
            "GarbageCan_bar_1": ("GarbageCan", "loc_bar_5"),
        },
        {
            "Apple_bar_1": ("Apple", ["CounterTop_bar_1"], (*_FOOD, "isCool")),
            "Apple_bar_2": ("Apple", ["Fridge_bar_1"], (*_FOOD, "isHot", "isClean")),
            "Tomato_bar_1": ("Tomato", ["CounterTop_bar_1", "Cabinet_bar_1"], (*_FOOD, "isSliced")),
            "Tomato_bar_2": ("Tomato", ["CounterTop_bar_1", "GarbageCan_bar_1"], _FOOD),
            "Egg_bar_1": ("Egg", ["Drawer_bar_1"], _TAKE),
            "Knife_bar_1": ("Knife", ["CounterTop_bar_1"], ("pickupable", "cleanable")),
            "ButterKnife_bar_1": ("ButterKnife", ["Drawer_bar_1"], _TAKE),
            "Pot_bar_1": ("Pot", ["GarbageCan_bar_1"], ("pickupable", "isReceptacleObject", "cleanable")),
            "Spoon_bar_1": ("Spoon", ["GarbageCan_bar_1"], _TAKE),
        },
        bring_goal("Apple", "GarbageCan", "isHot"),
        extra=["inReceptacleObject Spoon_bar_1 Pot_bar_1", "opened Drawer_bar_1"],
        accepts={
            "Fridge": ["Apple", "Tomato", "Pot"],
            "Microwave": ["Apple", "Tomato", "Egg"],
            "SinkBasin": ["Apple", "Tomato", "Knife", "Pot", "Spoon"],
            "CounterTop": ["Apple", "Tomato", "Egg", "Knife", "ButterKnife", "Pot"],
            "Cabinet": ["Egg", "Tomato", "Pot"],
            "Drawer": ["Knife", "ButterKnife", "Spoon", "Egg", "Apple"],
            "GarbageCan": ["Apple", "Egg", "Tomato", "Pot", "Spoon"],
        },
    )
    study = write_problem(
        {
            "Desk_bar_1": ("Desk", "loc_bar_1"),
            "SideTable_bar_1": ("SideTable", "loc_bar_1"),
            "Drawer_bar_1": ("Drawer!", "loc_bar_1"),
            "Box_bar_1": ("Shelf", "loc_bar_2"),
        },
        {
            "DeskLamp_bar_1": ("DeskLamp", ["Desk_bar_1", "SideTable_bar_1"], ("toggleable",)),
            "DeskLamp_bar_2": ("DeskLamp", ["Drawer_bar_1"], ("toggleable", "pickupable")),
            "Book_bar_1": ("Book", ["Box_bar_1"], _TAKE),
            "Book_bar_2": ("Book", ["Desk_bar_1"], ("toggleable", "sliceable", *_TAKE)),
            "Box_bar_9": ("Box", ["Box_bar_1"], ("isReceptacleObject", *_TAKE)),
            "Pen_bar_1": ("Pen", ["Box_bar_1"], _TAKE),
            "Pen_bar_2": ("Pen", ["Desk_bar_1"], _TAKE),
            "Pen_bar_3": ("Pen", ["Drawer_bar_1"], _TAKE),
            "Watch": ("Watch", ["Desk_bar_1"], _TAKE),
        },
        LIGHT_GOAL,
        start="loc_bar_1",
        extra=[f"inReceptacleObject Pen_bar_{n} Box_bar_9" for n in (1, 2, 3)],
    )
    pantry = write_problem(
        {f"Shelf_bar_{n:02d}": ("Shelf", f"loc_bar_{n % 3 + 1}") for n in range(11)}
        | {"Cabinet_bar_1": ("Cabinet!", "loc_bar_1"), "Bathtub_bar_1_bar_BathtubBasin": ("BathtubBasin", "loc_bar_2")},
        {f"Mug_bar_{n:02d}": ("Mug", [f"Shelf_bar_{n % 11:02d}"], _TAKE) for n in range(1, 12)}
        | {
            "Mug_bar_90": ("Mug", ["Cabinet_bar_1"], (*_TAKE, "cleanable")),
            "Bowl_bar_1": ("Bowl", ["Shelf_bar_00"], ("isReceptacleObject", *_TAKE)),
        },
        TWO_GOAL,
        accepts={"Cabinet": ["Mug", "Bowl"], "Shelf": ["Mug"], "BathtubBasin": ["Bowl"]},
    )
    larder = write_problem(  # won at the start; that heat drives out cold shows in this goal alone
        {
            "Fridge_bar_1": ("Fridge!", "loc_bar_1"),
            "Microwave_bar_1": ("Microwave!", "loc_bar_1"),
            "Table_bar_1": ("Table", "loc_bar_1"),
        },
        {
            "Apple_bar_1": ("Apple", ["Table_bar_1"], ("pickupable", "heatable", "coolable", "isCool")),
            "Pear_bar_1": ("Pear", ["Fridge_bar_1"], ("pickupable", "heatable", "isCool")),
        },
        bring_goal("Apple", "Table", "isCool"),
    )
    return [
        Sample("kitchen", kitchen, "put a hot apple in garbagecan"),
        Sample("study", study, "look at book under the desklamp"),
        Sample("pantry", pantry, "put two mug in shelf"),
        Sample("larder", larder, "put a cool apple in table"),
    ]
