"""Which of MiniHack's levels are played, as what task type, towards which goal; and which are not, and why. Data only.

The ids are those of minihack 1.0.2. Each level of `POOL` and `BY_NAME` was opened and stepped in two processes with
equal results for equal seeds (tests/envs/minihack/test_engine.py does it again).
"""

from __future__ import annotations

from dataclasses import dataclass

from metagym.errors import BadInput, UnknownName

STAIRS = "Reach the staircase down (>)."


@dataclass(frozen=True)
class Kind:
    """A task type: levels with one goal.

    Attributes:
        type: Name of the task type.
        goal: The task in one sentence, as the actor is told it.
        levels: The levels, by the middle of their id: ``"Room-5x5"`` is ``"MiniHack-Room-5x5-v0"``.
        held_out: Whether the type is kept out of training.
        why_not: Why its levels are played only when they are asked for by name; "" for types of the pool.
    """

    type: str
    goal: str
    levels: tuple[str, ...]
    held_out: bool = False
    why_not: str = ""


@dataclass(frozen=True)
class Level:
    """One level: what is opened, apart from the seed.

    Attributes:
        id: MiniHack's id, or ``custom/<name>`` for a level of one's own.
        type: Task type.
        goal: The task in one sentence.
        des: Text of a level of one's own (NetHack's des format); None for MiniHack's.
        base: For a level of one's own, the id that opens it: it decides character and commands.
    """

    id: str
    type: str
    goal: str
    des: str | None = None
    base: str = ""


def _sized(name: str, *sizes: str) -> tuple[str, ...]:
    return tuple(f"{name}-{size}" if size else name for size in sizes)


def _skill(name: str) -> tuple[str, ...]:
    return _sized(name, "", "Fixed", "Distr")


_ROOMS = tuple(f"Room-{kind}{size}" for size in ("5x5", "15x15") for kind in ("", *(f"{k}-" for k in
               ("Random", "Dark", "Monster", "Trap", "Ultimate"))))  # fmt: skip

POOL: tuple[Kind, ...] = (
    Kind("Room", STAIRS, _ROOMS),
    Kind("Corridor", STAIRS, _sized("Corridor", "R2", "R3", "R5")),
    Kind("CorridorBattle", STAIRS, _sized("CorridorBattle", "", "Dark")),
    Kind("MazeWalk", STAIRS, _sized("MazeWalk", "9x9", "15x15", "Mapped-9x9", "Mapped-15x15")),
    Kind("River", STAIRS, _sized("River", "", "Narrow", "Lava", "Monster", "MonsterLava")),
    Kind("HideNSeek", STAIRS, _sized("HideNSeek", "", "Mapped", "Lava", "Big")),
    Kind("ClosedDoor", STAIRS, ("ClosedDoor",)),
    Kind("LockedDoor", STAIRS, _sized("LockedDoor", "", "Fixed")),
    Kind(
        "LavaCross",
        STAIRS,
        (
            "LavaCross-Full",
            "LavaCross-Levitate-Full",
            "LavaCross-Levitate-Potion-Inv-Full",
            "LavaCross-Levitate-Potion-Pickup-Full",
            "LavaCross-Levitate-Ring-Inv-Full",
            "LavaCross-Levitate-Ring-Pickup-Full",
        ),
    ),
    Kind("Eat", "Eat the apple.", _skill("Eat")),
    Kind("PutOn", "Put on the amulet.", _skill("PutOn")),
    Kind("Zap", "Zap the wand.", _skill("Zap")),
    Kind("Wield", "Wield the dagger.", _skill("Wield")),
    Kind("Pray", "Pray on the altar.", _skill("Pray")),
    Kind("Sink", "Drink from the sink.", _skill("Sink")),
    Kind("Read", "Read the scroll.", _skill("Read"), held_out=True),
    Kind("Wear", "Wear the robe.", _skill("Wear"), held_out=True),
    Kind("KeyRoom", STAIRS, _sized("KeyRoom", "S5", "Fixed-S5", "Dark-S5", "S15", "Dark-S15"), held_out=True),
)
"""The task types of the default pool."""

_LONG = "a text actor of some 50 steps does not get through it"
_RESTRICTED = "the same level with all commands (-Full) is played"

BY_NAME: tuple[Kind, ...] = (
    Kind("ExploreMaze", STAIRS, tuple(f"ExploreMaze-{k}" for k in ("Easy", "Hard", "Easy-Mapped", "Hard-Mapped")),
         why_not=_LONG),  # fmt: skip
    Kind("MazeWalkBig", STAIRS, ("MazeWalk-45x19", "MazeWalk-Mapped-45x19"), why_not=_LONG),
    Kind("Labyrinth", STAIRS, ("Labyrinth-Small", "Labyrinth-Big"), why_not=_LONG),
    Kind("Memento", STAIRS, ("Memento-Short-F2", "Memento-F2", "Memento-F4"), why_not=_LONG),
    Kind("Quest", STAIRS, ("Quest-Easy", "Quest-Medium", "Quest-Hard"), why_not=_LONG),
    Kind("WoD", "Kill the minotaur.", tuple(f"WoD-{k}-Full" for k in ("Easy", "Medium", "Hard", "Pro")), why_not=_LONG),
    Kind(
        "Levitate",
        "Float in the air.",
        tuple(
            f"Levitate-{k}"
            for k in (
                "Boots-Fixed",
                "Boots-Full",
                "Potion-Fixed",
                "Potion-Full",
                "Ring-Fixed",
                "Ring-Full",
                "Random-Full",
            )
        ),
        why_not="LavaCross holds the same skill",
    ),
    Kind(
        "Freeze",
        "Freeze something with a bolt of cold.",
        tuple(f"Freeze-{k}-Full" for k in ("Wand", "Horn", "Random", "Lava")),
        why_not="the bolt must bounce at the right moment: chance rather than skill",
    ),
    Kind(
        "Restricted",
        "Do what this level asks for; its commands tell what that may be.",
        (
            *(f"Freeze-{k}-Restricted" for k in ("Wand", "Horn", "Random", "Lava")),
            *(f"Levitate-{k}-Restricted" for k in ("Boots", "Potion", "Ring")),
            *(f"WoD-{k}-Restricted" for k in ("Easy", "Medium", "Hard", "Pro")),
            "LavaCross-Restricted",
            "LavaCross-Levitate-Restricted",
            *(f"LavaCross-Levitate-{k}-Restricted" for k in
              ("Potion-Inv", "Potion-Pickup", "Ring-Inv", "Ring-Pickup")),
        ),
        why_not=_RESTRICTED,
    ),
)  # fmt: skip
"""Levels that work and stay out of the default pool; the option ``levels`` names them."""

UNPLAYABLE: tuple[tuple[str, str], ...] = (
    ("Boxoban-", "its levels are a download of another repository, and its reset is broken (minihack issue 29)"),
    ("Sokoban", "it can crash the process (minihack issue 4), and a puzzle takes some 200 moves"),
    ("MultiRoom-", "it needs the package minigrid, which no extra of ours brings"),
    ("LavaCrossing", "it fails with the present minigrid (AssertionError)"),
    ("SimpleCrossing", "it fails with the present minigrid (AssertionError)"),
    ("Navigation-Custom", "it is no level: give a .des file instead"),
    ("Skill-Custom", "it is no level: give a .des file instead"),
)
"""What ids begin with (behind ``MiniHack-``) whose levels cannot be played, and why."""


def short_name(name: str) -> str:
    """``"MiniHack-Room-5x5-v0"`` and ``"Room-5x5"`` -> ``"Room-5x5"``."""
    name = name.strip().removeprefix("MiniHack-")
    head, mark, version = name.rpartition("-v")
    return head if mark and version.isdecimal() else name


def level_of(kind: Kind, name: str) -> Level:
    """The level of a kind."""
    return Level(f"MiniHack-{name}-v0", kind.type, kind.goal)


def find_level(name: str) -> Level:
    """A level by its id or the middle of it.

    Raises:
        BadInput: MiniHack has it, and it cannot be played here; the message says why.
        UnknownName: There is no such level; the message names the nearest.
    """
    short = short_name(name)
    for kind in (*POOL, *BY_NAME):
        if short in kind.levels:
            return level_of(kind, short)
    for start, why in UNPLAYABLE:
        if short.startswith(start):
            raise BadInput(f"MiniHack level {name!r} cannot be played: {why}")
    from difflib import get_close_matches

    there = [known for kind in (*POOL, *BY_NAME) for known in kind.levels]
    near = ", ".join(get_close_matches(short, there, 3, 0.3)) or "see docs/minihack.md"
    raise UnknownName(f"there is no MiniHack level {name!r} and no file of that name; near it are {near}")
