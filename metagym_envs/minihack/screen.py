"""From the engine's arrays to text: message, map, what is near, inventory.

The map is cropped to what is drawn and stands behind two blanks, so that no row looks like a list or a quoted action.
What is near is told from where the player stands, with distances as the king moves in chess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metagym_envs.minihack.commands import DIRECTIONS
from metagym_envs.minihack.engine import text_of
from metagym_envs.minihack.questions import Item

_X, _Y, _HP, _MAX_HP, _TURN = 0, 1, 10, 11, 20  # nle.nethack: NLE_BL_X, Y, HP, HPMAX, TIME
PLAIN = frozenset(("", "wall", "floor of a room", "dark part of a room", "corridor", "lit corridor", "stone",
                   "dark part of a corridor", "solid rock"))  # fmt: skip
"""Descriptions that the map tells well enough."""
BLOCKS = frozenset(("", "wall", "stone", "solid rock"))
MOST_LINES = 12
MANY = 4
"""From this number on, places of one kind (lava, water) share a line."""
_WAY = {(dx, dy): name for name, (dx, dy, _) in DIRECTIONS.items()}


@dataclass(frozen=True)
class Seen:
    """A place worth telling: what is there, columns to the east and rows to the south of the player."""

    what: str
    dx: int
    dy: int

    @property
    def steps(self) -> int:
        """Distance in steps, diagonal ones included."""
        return max(abs(self.dx), abs(self.dy))

    @property
    def way(self) -> str:
        """The one of the eight directions that it lies in."""
        return _WAY[(self.dx > 0) - (self.dx < 0), (self.dy > 0) - (self.dy < 0)]


class Screen:
    """Reads the observations of one game; a new game needs a new one."""

    def __init__(self) -> None:
        self._plain: set[int] = set()  # glyphs of floor and the like: they mean the same all game long
        self._blocking: set[int] = set()

    def near(self, observation: Mapping[str, Any]) -> list[Seen]:
        """What is on the map apart from floor and walls, the nearest first."""
        glyphs, told = observation["glyphs"], observation["screen_descriptions"]
        x, y = (int(n) for n in observation["blstats"][:2])
        found = []
        for glyph in np.unique(glyphs).tolist():
            if glyph in self._plain:
                continue
            for row, column in np.argwhere(glyphs == glyph).tolist():
                if (column, row) == (x, y):
                    continue
                what = text_of(told[row, column])
                if what in PLAIN:
                    self._plain.add(glyph)
                    if what in BLOCKS:
                        self._blocking.add(glyph)
                    break
                found.append(Seen(what, column - x, row - y))
        return sorted(found, key=lambda seen: (seen.steps, abs(seen.dx) + abs(seen.dy), seen.dy, seen.dx))

    def blocked(self, observation: Mapping[str, Any]) -> list[str]:
        """Directions in which a wall or solid rock is next to the player; call `near` first."""
        glyphs = observation["glyphs"]
        x, y = (int(n) for n in observation["blstats"][:2])
        rows, columns = glyphs.shape
        return [
            name
            for name, (dx, dy, _) in DIRECTIONS.items()
            if not (0 <= y + dy < rows and 0 <= x + dx < columns) or int(glyphs[y + dy, x + dx]) in self._blocking
        ]


def map_rows(chars: Any) -> tuple[list[str], int, int]:
    """The drawn part of the map, and the column and row of its upper left corner."""
    rows = [bytes(row).decode("latin-1").rstrip() for row in chars]
    drawn = [number for number, row in enumerate(rows) if row.strip()]
    if not drawn:
        return [], 0, 0
    rows = rows[drawn[0] : drawn[-1] + 1]
    left = min(len(row) - len(row.lstrip()) for row in rows if row)
    return [row[left:] for row in rows], left, drawn[0]


def inventory(observation: Mapping[str, Any]) -> list[Item]:
    """What the player carries."""
    found = []
    for letter, name, kind in zip(
        observation["inv_letters"].tolist(), observation["inv_strs"], observation["inv_oclasses"].tolist(), strict=True
    ):
        if not letter:
            break
        found.append(Item(chr(letter), text_of(name), kind))
    return found


def _near_lines(near: Sequence[Seen]) -> list[str]:
    kinds: dict[str, list[Seen]] = {}
    for seen in near:
        kinds.setdefault(seen.what, []).append(seen)
    lines = []
    for what, places in kinds.items():
        if len(places) >= MANY:
            first = places[0]
            lines.append((first.steps, f"- {what}: {len(places)} places, the nearest {_where(first)}"))
        else:
            lines += [(seen.steps, f"- {what}: {_where(seen)}") for seen in places]
    lines.sort(key=lambda line: line[0])
    shown = [line for _, line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"- and {len(lines) - MOST_LINES} more on the map")
    return shown


def _where(seen: Seen) -> str:
    text = f"{seen.steps} step{'s' if seen.steps > 1 else ''} {seen.way}"
    if seen.dx and seen.dy and abs(seen.dx) != abs(seen.dy):
        parts = DIRECTIONS[seen.way]
        down, right = ("south" if parts[1] > 0 else "north"), ("east" if parts[0] > 0 else "west")
        text += f" ({abs(seen.dy)} {down}, {abs(seen.dx)} {right})"
    return text


def render(
    observation: Mapping[str, Any], message: str, near: Sequence[Seen], blocked: Sequence[str], items: Sequence[Item]
) -> str:
    """The text of one observation."""
    stats = observation["blstats"]
    rows, left, top = map_rows(observation["chars"])
    lines = [message or "Nothing new."]
    if rows:
        lines += [f"Map from column {left}, row {top} (you are @):", *("  " + row for row in rows)]
    if near:
        lines += ["Near you:", *_near_lines(near)]
    if blocked:
        lines.append("Walls: " + ", ".join(blocked) + ".")
    lines += ["You carry:", *(f"- {item.letter}: {item.name}" for item in items)] if items else ["You carry nothing."]
    lines.append(
        f"You are at column {int(stats[_X])}, row {int(stats[_Y])}. HP {int(stats[_HP])}/{int(stats[_MAX_HP])}, "
        f"turn {int(stats[_TURN])}."
    )
    return "\n".join(lines)
