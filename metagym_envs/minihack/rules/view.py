"""What a player knows of a MiniHack game, folded from its texts alone (never from the engine's state)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from metagym_envs.minihack.commands import DIRECTIONS

Spot = tuple[int, int]
"""Column and row."""

_TASK = re.compile(r"^Your task: (.*?)\.?$", re.MULTILINE)
_MAP = re.compile(r"^Map from column (\d+), row (\d+) .*$")
_NEAR = re.compile(r"- (?:and \d+ more on the map|(.*?): (?:\d+ places, the nearest )?(\d+) steps? (\w+)"
                   r"(?: \((\d+) (\w+), (\d+) (\w+)\))?)$")  # fmt: skip
_CARRY = re.compile(r"- (\S): (.*)$")
_AT = re.compile(r"^You are at column (\d+), row (\d+)\.", re.MULTILINE)
_VERBS = {"put on": "puton", "drink from": "quaff", "pray on": "pray"}
_GOAL = re.compile(r"(put on|drink from|pray on|eat|read|zap|wield|wear) (?:the |an? )?(\w+)", re.IGNORECASE)
_HERE = re.compile(r"(?:see here|there is|there are) ([^.]*)", re.IGNORECASE)
_WALLS = frozenset(" |-")
_SOLID = ("tree", "iron bars", "boulder", "wall")
_OPENED = ("door opens", "unlock", "picking the lock", "crashes open", "shatters", "door breaks")
PLACES = ("pray", "quaff")


@dataclass(frozen=True)
class Sight:
    """One observation, read.

    Attributes:
        message: What the game said.
        cells: Place to the sign on the map.
        near: Place to what is told to be there.
        items: Letter and name of what is carried.
        at: Where the player stands; None where the text does not say.
    """

    message: str
    cells: Mapping[Spot, str] = field(default_factory=dict)
    near: Mapping[Spot, str] = field(default_factory=dict)
    items: tuple[tuple[str, str], ...] = ()
    at: Spot | None = None


@lru_cache(maxsize=8192)
def read_sight(text: str) -> Sight:
    """Reads one observation; a text in another form gives its message alone."""
    found = _AT.search(text)
    at = (int(found[1]), int(found[2])) if found else None
    message: list[str] = []
    cells: dict[Spot, str] = {}
    near: dict[Spot, str] = {}
    items: list[tuple[str, str]] = []
    part, left, row = "message", 0, 0
    for line in text.split("\n"):
        if head := _MAP.match(line):
            part, left, row = "map", int(head[1]), int(head[2])
        elif line in ("Near you:", "You carry:"):
            part = line
        elif part == "map" and line.startswith("  "):
            cells.update({(left + n, row): sign for n, sign in enumerate(line[2:]) if sign != " "})
            row += 1
        elif part == "message":
            message.append(line)
        elif part == "Near you:" and at and (told := _NEAR.match(line)) and told[1]:
            near[_place(at, told)] = told[1]
        elif part == "You carry:" and (carried := _CARRY.match(line)):
            items.append((carried[1], carried[2]))
    return Sight("\n".join(message), cells, near, tuple(items), at)


def _place(at: Spot, told: re.Match[str]) -> Spot:
    dx, dy, _ = DIRECTIONS.get(told[3], (0, 0, ""))
    if told[4]:
        return at[0] + dx * int(told[6]), at[1] + dy * int(told[4])
    return at[0] + dx * int(told[2]), at[1] + dy * int(told[2])


class View:
    """What is known after some observations.

    Attributes:
        verb: What the task wants done with a thing or at a place; "" where it wants the staircase.
        noun: That thing or place; "" for the staircase.
        now: The last observation that showed a map.
        message: The last message.
        visited: Places where the player has stood.
        known: Place to what was told to be there at any time.
        locked: Whether a door has been found locked and not seen open since.
    """

    def __init__(self) -> None:
        self.verb = self.noun = self.message = ""
        self.now = Sight("")
        self.visited: set[Spot] = set()
        self.known: dict[Spot, str] = {}
        self.locked = False

    def add(self, text: str) -> None:
        """Takes in the next observation; what stands before its last blank line are instructions."""
        text = text.rpartition("\n\n")[2]
        sight = read_sight(text)
        if task := _TASK.search(text):
            goal = _GOAL.match(task[1])
            if goal:
                self.verb = _VERBS.get(goal[1].lower(), goal[1].lower())
                self.noun = goal[2].lower()
        self.message = sight.message
        low = sight.message.lower()
        if any(words in low for words in _OPENED):
            self.locked = False
        elif "locked" in low or "locking the door" in low:
            self.locked = True
        if sight.at is None:
            return
        self.now = sight
        self.visited.add(sight.at)
        for spot in [spot for spot in self.known if spot in sight.cells and spot != sight.at]:
            if spot not in sight.near:
                del self.known[spot]  # it is gone, or something ordinary by now
        self.known.update(sight.near)

    @property
    def at(self) -> Spot:
        """Where the player stands."""
        return self.now.at or (0, 0)

    @property
    def carried(self) -> str:
        """Letter of the thing that the task names; "" where it is not carried, or the task names a place."""
        if not self.noun or self.verb in PLACES:
            return ""
        return next((letter for letter, name in reversed(self.now.items) if self.noun in name.lower()), "")

    @property
    def here(self) -> bool:
        """Whether what the task names is where the player stands."""
        if not self.noun:
            return False
        told = _HERE.search(self.message)
        return bool(told and self.noun in told[1].lower()) or self.noun in self.known.get(self.at, "")

    def wanted(self) -> list[Spot]:
        """Where what the task names was seen."""
        return [spot for spot, what in self.known.items() if self.noun and self.noun in what and spot != self.at]

    def stairs(self) -> list[Spot]:
        """Where a staircase down is on the map."""
        return [spot for spot, sign in self.now.cells.items() if sign == ">"]

    def doors(self) -> list[Spot]:
        """Where closed doors are."""
        return [spot for spot, what in self.known.items() if what == "closed door"]

    def creatures(self) -> list[str]:
        """Directions in which a creature is next to the player."""
        return [way for way, spot in self.around() if self.now.cells.get(spot, ".").isalpha()]

    def around(self) -> list[tuple[str, Spot]]:
        """The eight neighbouring places with their directions."""
        x, y = self.at
        return [(way, (x + dx, y + dy)) for way, (dx, dy, _) in DIRECTIONS.items()]

    def lava(self, spot: Spot) -> bool:
        """Whether lava or water is there."""
        return self.now.cells.get(spot) == "}"

    def free(self, spot: Spot, doors: bool, wet: bool) -> bool:
        """Whether one may walk there: closed doors and lava count as asked."""
        sign, what = self.now.cells.get(spot, " "), self.known.get(spot, "")
        if sign == "}":
            return wet
        if what == "closed door":
            return doors
        if sign in _WALLS:
            return "door" in what
        return sign != "`" and not any(solid in what for solid in _SOLID)

    def way_to(self, goals: Iterable[Spot], doors: bool = False, wet: bool = False) -> tuple[str, int]:
        """The first step of a shortest way to the nearest of some places, and its length; ("", 0) without one."""
        wanted = set(goals)
        return self.way_where(wanted.__contains__, doors, wet) if wanted else ("", 0)

    def way_where(self, ends: Callable[[Spot], bool], doors: bool, wet: bool) -> tuple[str, int]:
        """The same for the nearest place of a kind."""
        start = self.at
        first: dict[Spot, tuple[str, int]] = {start: ("", 0)}
        queue = deque((start,))
        while queue:
            spot = queue.popleft()
            way, length = first[spot]
            tight = "door" in self.known.get(spot, "")
            for name, (dx, dy, _) in DIRECTIONS.items():
                step = (spot[0] + dx, spot[1] + dy)
                if step in first or (dx and dy and (tight or "door" in self.known.get(step, ""))):
                    continue  # nobody gets through a door diagonally
                end = ends(step)
                if not self.free(step, doors, wet) and not (end and step in self.now.cells):
                    continue
                first[step] = (way or name, length + 1)
                if end:
                    return first[step]
                queue.append(step)
        return "", 0

    def unexplored(self, doors: bool, wet: bool) -> str:
        """The first step to the nearest place that may show more, else to one not visited yet; "" without any."""
        cells = self.now.cells

        def edge(spot: Spot) -> bool:
            x, y = spot
            return (
                spot not in self.visited
                and self.free(spot, doors, wet)
                and any((x + dx, y + dy) not in cells for dx, dy, _ in DIRECTIONS.values())
            )

        way, _ = self.way_where(edge, doors, wet)
        if way:
            return way
        return self.way_where(lambda s: s not in self.visited and self.free(s, doors, wet), doors, wet)[0]
