"""Commands in square brackets, and what a seat of a game reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from metagym.episodes import Repair
from metagym.families import Cleaned, clean_command

MAX_CHARS = 200
"""Longest command."""

FORBIDDEN = "[]"
"""A move that no game allows."""

INSTRUCTIONS = (
    "You play a game. Its rules and the form of a move stand in the first text. A move is written in square brackets, "
    "for example [4], [A C] or [up]; one move at a time. Two moves in a row that the rules forbid lose the game."
)

_FIRST = re.compile(r"\[[^\[\]]*\]")
_GAPS = re.compile(r"\n{3,}")


def bracketed(text: str) -> str:
    """The one move in a text, in square brackets.

    The first pair of brackets counts and nothing else does: some engines would play every pair that they find, all in
    one turn. A text without any is put into brackets as a whole.
    """
    line = "".join(mark if mark.isprintable() else " " for mark in text)[:MAX_CHARS]
    found = _FIRST.search(line)
    inner = found[0][1:-1] if found else line.replace("[", " ").replace("]", " ")
    return f"[{' '.join(inner.split())}]"


def clean(command: str, admissible: Sequence[str] | None) -> Cleaned:
    """The cleaning rule of the family: `metagym.families.clean_command` for the line, `bracketed` for the move.

    A move that equals a legal one but for its case is taken for it.
    """
    line = clean_command(command, None).command
    if not line:
        return Cleaned("", Repair.ABSENT)
    move = bracketed(line.lstrip("> ").strip("`\"'"))
    for legal in admissible or ():
        if legal.casefold() == move.casefold():
            return Cleaned(legal, Repair.EXACT if legal == command else Repair.REPAIRED)
    if admissible is not None:
        return Cleaned(move, Repair.INVALID)
    return Cleaned(move, Repair.EXACT if move == command else Repair.REPAIRED)


def shown(messages: Iterable[tuple[int, str, object]]) -> str:
    """What a seat reads of the engine's messages: all but the moves as they were written, and the last board only.

    The engine tells of every move in its own words; a player's own text would carry anything to the other seat.
    """
    kept: list[tuple[str, str]] = []
    for _, message, kind in messages:
        name = getattr(kind, "name", "")
        if name == "PLAYER_ACTION":
            continue
        if name == "GAME_BOARD":
            kept = [one for one in kept if one[0] != name]
        lines = "\n".join(line.rstrip() for line in message.splitlines()).strip("\n")
        if lines.strip():
            kept.append((name, lines))
    return _GAPS.sub("\n\n", "\n\n".join(lines for _, lines in kept))
