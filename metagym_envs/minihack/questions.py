"""What the game asks in the middle of a command, and which key answers it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metagym_envs.minihack.commands import CANCEL, DIRECTIONS, MOVES, SPOKEN, Command, named_thing, parse, thing

ESCAPE = 27
"""The key that gives up a question."""

_OFFER = re.compile(r"\[([^\]]*)\]")
_RANGE = re.compile(r"([A-Za-z])-([A-Za-z])")


@dataclass(frozen=True)
class Item:
    """One thing in the inventory: its letter, the engine's words for it, and its object class."""

    letter: str
    name: str
    kind: int


@dataclass(frozen=True)
class Question:
    """A question that is open.

    Attributes:
        kind: Which thing, yes or no, which way, or a line of text (which is never given).
        text: The game's own words.
        offered: Letters that answer it.
    """

    kind: Literal["item", "yes", "direction", "line"]
    text: str
    offered: tuple[str, ...] = ()


def read_question(text: str, line: bool = False) -> Question:
    """Reads the game's prompt, e.g. ``What do you want to eat? [fg or ?*]``.

    Args:
        text: The message.
        line: Whether the engine waits for a line of text.
    """
    if line:
        return Question("line", text)
    found = _OFFER.search(text)
    if found is None:
        return Question("direction" if "direction" in text.lower() else "yes", text, ("y", "n"))
    inside = found[1]
    if "?" in inside or "*" in inside:
        letters = inside.partition(" or ")[0]
        spelled = _RANGE.sub(lambda m: "".join(chr(c) for c in range(ord(m[1]), ord(m[2]) + 1)), letters)
        return Question("item", text, tuple(c for c in spelled if c.isalnum() or c in "-$#"))
    return Question("yes", text, tuple(c for c in inside if c.isalpha()))


def find_item(words: str, items: Sequence[Item], offered: Sequence[str] = ()) -> str | None:
    """The letter of the thing that an actor names, by letter or by words of its name; None where there is none.

    Of several that fit, one that is offered comes first, then the newest.
    """
    if len(words) == 1:
        return words if any(item.letter == words for item in items) or words in offered else None
    wanted = words.lower().split()
    fitting = [item.letter for item in items if wanted and all(word in item.name.lower() for word in wanted)]
    return next((letter for letter in reversed(fitting) if letter in offered), fitting[-1] if fitting else None)


def answer(question: Question, command: Command, items: Sequence[Item], automatic: bool) -> int | None:
    """The key that answers a question which a command led to.

    The command's own words come first: its item, its direction. What they leave open is answered automatically (the
    newest thing that is offered; yes, except where a mere step leads to it; no direction), or left to the actor.

    Returns:
        A key code; None where the actor is to answer.
    """
    if question.kind == "line":
        return ESCAPE
    if question.kind == "direction":
        if command.direction:
            return ord(DIRECTIONS[command.direction][2])
        return ESCAPE if automatic else None
    if question.kind == "item":
        if command.item:
            letter = find_item(command.item, items, question.offered)
            return ord(letter) if letter else ESCAPE
        if not automatic:
            return None
        return ord(question.offered[-1]) if question.offered else ESCAPE
    if command.word in MOVES:
        return ord("n") if automatic else None
    if command.item and "here" in question.text:  # "There is an apple here; eat it?"
        if len(command.item) == 1:
            return ord("n")
        return ord("y" if all(word in question.text.lower() for word in command.item.split()) else "n")
    return ord("y") if automatic else None


def answers(question: Question, items: Sequence[Item] = ()) -> tuple[str, ...]:
    """The answers that an actor may give, as they are listed; things with their letter and their name."""
    if question.kind == "direction":
        return (*DIRECTIONS, CANCEL)
    if question.kind == "item":
        names = {item.letter: item.name for item in items}
        return (*(thing(letter, names[letter]) if letter in names else letter for letter in question.offered), CANCEL)
    return (*question.offered, CANCEL)


def typed_answer(text: str, question: Question, items: Sequence[Item]) -> int | None:
    """The key for an actor's own answer, one of those that are offered; None where it answers nothing."""
    said = text.strip()
    low = said.lower().strip(".!\"'")
    if low in (CANCEL, "escape", "esc", "nothing"):
        return ESCAPE
    if question.kind == "direction":
        found = parse(low)
        return ord(DIRECTIONS[found.direction][2]) if found is not None and found.direction else None
    if question.kind == "yes":
        letter = SPOKEN.get(low, low)
        return ord(letter) if letter in question.offered else None
    if said in question.offered:
        return ord(said)
    listed = answers(question, items)
    named = said if said in listed else named_thing(said.strip(".!\"'"), listed)
    return ord(named[0]) if named else None
