"""From the engine's arrays to text: message, map, what is near, inventory.

The map is cropped to what is drawn and stands behind two blanks, so that no row looks like a list or a quoted action.
What is near is told from where the player stands, with distances as the king moves in chess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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
_GLYPHS = 1 << 14  # nle's MAX_GLYPH is 5,976
_WAY = {(dx, dy): name for name, (dx, dy, _) in DIRECTIONS.items()}


class Seen(NamedTuple):
    """What is somewhere: columns to the east and rows to the south of the player, and in how many places.

    Of many places of one kind only the nearest is told.
    """

    what: str
    dx: int
    dy: int
    places: int = 1

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
        # By glyph, from what the first place with it was told to be; floor and walls mean the same all game long.
        self._telling = np.ones(_GLYPHS, dtype=bool)
        self._blocking: set[int] = set()
        self._carried = (b"", b"")
        self._items: list[Item] = []

    def near(self, observation: Mapping[str, Any]) -> list[Seen]:
        """What is on the map apart from floor and walls, the nearest first."""
        glyphs, told = observation["glyphs"], observation["screen_descriptions"]
        width = glyphs.shape[1]
        x, y = observation["blstats"][:2].tolist()
        flat = glyphs.ravel()
        spots = np.flatnonzero(self._telling[flat])
        spots = spots[spots != y * width + x]
        kinds: dict[str, list[Seen]] = {}
        of_spot = flat[spots]
        for glyph in set(of_spot.tolist()):
            found = spots[of_spot == glyph]
            what = text_of(told[divmod(int(found[0]), width)])
            if what in PLAIN:
                self._telling[glyph] = False
                if what in BLOCKS:
                    self._blocking.add(glyph)
            elif len(found) >= MANY and "door" not in what:
                kinds.setdefault(what, []).append(
                    Seen(what, *_nearest(found % width - x, found // width - y), len(found))
                )
            else:
                for spot in found.tolist():  # one glyph may stand for an apple here and some apples there
                    row, column = divmod(spot, width)
                    what = text_of(told[row, column])
                    kinds.setdefault(what, []).append(Seen(what, column - x, row - y))
        out: list[Seen] = []
        for what, places in kinds.items():
            count = sum(seen.places for seen in places)
            if count >= MANY and "door" not in what:
                out.append(min(places, key=_distance)._replace(places=count))
            else:
                out += places
        out.sort(key=lambda seen: (_distance(seen), seen[0]))
        return out

    def blocked(self, observation: Mapping[str, Any]) -> list[str]:
        """Directions in which a wall or solid rock is next to the player; call `near` first."""
        glyphs = observation["glyphs"]
        x, y = observation["blstats"][:2].tolist()
        rows, columns = glyphs.shape
        return [
            name
            for name, (dx, dy, _) in DIRECTIONS.items()
            if not (0 <= y + dy < rows and 0 <= x + dx < columns) or int(glyphs[y + dy, x + dx]) in self._blocking
        ]

    def inventory(self, observation: Mapping[str, Any]) -> list[Item]:
        """What the player carries; read again only where it has changed."""
        carried = (observation["inv_letters"].tobytes(), observation["inv_strs"].tobytes())
        if carried != self._carried:
            self._carried = carried
            letters, kinds = carried[0].rstrip(b"\0"), observation["inv_oclasses"].tolist()
            self._items = [
                Item(chr(letter), text_of(observation["inv_strs"][number]), kinds[number])
                for number, letter in enumerate(letters)
            ]
        return self._items


def _distance(seen: Seen) -> tuple[int, int, int, int]:
    """Sorts by steps, then straight before slanting; written out, since it runs for every thing in sight."""
    _, dx, dy, _ = seen
    right, down = (dx if dx > 0 else -dx), (dy if dy > 0 else -dy)
    return (right if right > down else down), right + down, dy, dx


def _nearest(dx: Any, dy: Any) -> tuple[int, int]:
    """The same order as `_distance`, for arrays of offsets."""
    ax, ay = np.abs(dx), np.abs(dy)
    at = np.lexsort((dx, dy, ax + ay, np.maximum(ax, ay)))[0]
    return int(dx[at]), int(dy[at])


def map_rows(chars: Any) -> tuple[list[str], int, int]:
    """The drawn part of the map, and the column and row of its upper left corner."""
    width = chars.shape[1]
    text = chars.tobytes().decode("latin-1")
    rows = [text[start : start + width].rstrip() for start in range(0, len(text), width)]
    drawn = [number for number, row in enumerate(rows) if row]
    if not drawn:
        return [], 0, 0
    rows = rows[drawn[0] : drawn[-1] + 1]
    left = min(len(row) - len(row.lstrip()) for row in rows if row)
    return [row[left:] for row in rows], left, drawn[0]


def _near_lines(near: Sequence[Seen]) -> list[str]:
    lines = [
        f"- {seen.what}: {f'{seen.places} places, the nearest ' if seen.places > 1 else ''}{_where(seen)}"
        for seen in near[:MOST_LINES]
    ]
    if len(near) > MOST_LINES:
        lines.append(f"- and {len(near) - MOST_LINES} more on the map")
    return lines


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
