"""From words to NetHack's keys: the commands an actor writes, as data, and the one rule that reads them.

Key codes are NetHack 3.6's default bindings (nle.nethack.actions): lower-case vi letters step, upper-case ones run,
control-d kicks, meta-p prays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from metagym.episodes import Repair
from metagym.families import Cleaned, clean_command

LONGEST = 200
"""A command is cut at this many characters."""

DIRECTIONS: dict[str, tuple[int, int, str]] = {
    "north": (0, -1, "k"),
    "northeast": (1, -1, "u"),
    "east": (1, 0, "l"),
    "southeast": (1, 1, "n"),
    "south": (0, 1, "j"),
    "southwest": (-1, 1, "b"),
    "west": (-1, 0, "h"),
    "northwest": (-1, -1, "y"),
}
"""Direction -> (columns to the right, rows down, key of a step); the upper-case key runs."""

_SHORT = {"n": "north", "ne": "northeast", "e": "east", "se": "southeast", "s": "south", "sw": "southwest",
          "w": "west", "nw": "northwest"}  # fmt: skip

Takes = Literal["", "direction", "item", "item or direction"]


@dataclass(frozen=True)
class Verb:
    """A command word.

    Attributes:
        name: As the actor writes it.
        key: NetHack's key code.
        takes: What may follow it.
        classes: Object classes (numbers of nle's ``inv_oclasses``) of the things it is for.
        does: What it does, for the actor's instructions.
    """

    name: str
    key: int
    takes: Takes = ""
    classes: tuple[int, ...] = ()
    does: str = ""


_WEAPON, _ARMOR, _RING, _AMULET, _TOOL, _FOOD, _POTION, _SCROLL, _BOOK, _WAND = range(2, 12)

VERBS: tuple[Verb, ...] = (
    Verb("pickup", ord(","), does="pick up all that lies where you stand"),
    Verb("open", ord("o"), "direction", does="open the door there"),
    Verb("kick", 4, "direction", does="kick what is there, e.g. a locked door"),
    Verb("search", ord("s"), does="search the squares around you, or let a turn pass"),
    Verb("pray", 0x80 | ord("p"), does="pray to your god"),
    Verb("eat", ord("e"), "item", (_FOOD,), "eat food, also from the floor"),
    Verb("read", ord("r"), "item", (_SCROLL, _BOOK), "read a scroll or book"),
    Verb("quaff", ord("q"), "item", (_POTION,), "drink a potion, also from a sink or fountain"),
    Verb("zap", ord("z"), "item or direction", (_WAND,), "zap a wand"),
    Verb("puton", ord("P"), "item", (_RING, _AMULET), "put on a ring or amulet"),
    Verb("wear", ord("W"), "item", (_ARMOR,), "wear armor or clothes"),
    Verb("wield", ord("w"), "item", (_WEAPON,), "take a weapon in hand"),
    Verb("apply", ord("a"), "item or direction", (_TOOL,), "use a tool, e.g. a key on a locked door"),
    Verb("drop", ord("d"), "item", (), "drop a thing"),
)
BY_WORD = {verb.name: verb for verb in VERBS}
MOVES = ("step", "run")
_WORDS = {
    "go": "step", "move": "step", "walk": "step", "head": "step", "far": "run", "drink": "quaff", "unlock": "apply",
    "use": "apply", "take": "pickup", "grab": "pickup", "get": "pickup", "wait": "search", "equip": "wield",
}  # fmt: skip
CANCEL = "cancel"
"""The answer that gives up a question; it is listed where one is open, and there alone."""
SPOKEN = {"yes": "y", "no": "n", "quit": "q", "all": "a"}
"""Words for the keys that answer a yes-or-no question."""
_IDLE_WORDS = frozenset("the a an my to towards toward in on at from up with and it door direction of".split())
_THING = re.compile(r"\S - ")
_HYPHEN = re.compile(r"(?<=[a-zA-Z])-(?=[a-zA-Z])")
_MARKS = re.compile(r"[\"'`*_<>\[\](){}“”‘’«».,:;!?]")


@dataclass(frozen=True)
class Command:
    """What was asked for.

    Attributes:
        word: ``step``, ``run`` or a verb's name.
        direction: One of `DIRECTIONS`; "" where none is named.
        item: An inventory letter or words of a thing's name; "" where none is named.
    """

    word: str
    direction: str = ""
    item: str = ""

    def __str__(self) -> str:
        """The command as it is listed."""
        return " ".join(part for part in (self.word, self.item, self.direction) if part)

    @property
    def key(self) -> int:
        """The first key that it sends."""
        if self.word in MOVES:
            letter = DIRECTIONS[self.direction][2]
            return ord(letter if self.word == "step" else letter.upper())
        return BY_WORD[self.word].key


@lru_cache(maxsize=4096)
def parse(text: str) -> Command | None:
    """Reads one command; None where it is none.

    Upper case, punctuation, articles and small words do not count; "go", "move", "walk" and a bare direction step,
    "far" runs, "put on" is puton, "pick up", "take" and "get" pick up, "drink" quaffs, "use" and "unlock" apply.
    A single letter behind a verb is an inventory letter, in its own case: ``eat a`` names item a, ``eat a pear`` none.
    """
    line = _HYPHEN.sub("", _MARKS.sub(" ", text[:LONGEST])).strip()
    low = line.lower()
    if low.startswith("put on"):
        low, line = "puton" + low[6:], "puton" + line[6:]
    elif low.startswith("pick "):
        low, line = "take" + low[4:], "take" + line[4:]
    words, raw = low.split(), line.split()
    if not words:
        return None
    first = _WORDS.get(words[0], words[0])
    direction = _SHORT.get(first, first)
    if direction in DIRECTIONS:
        return Command("step", direction) if len(words) == 1 else None
    rest = list(zip(words[1:], raw[1:], strict=True))
    if first in MOVES:
        named = [_SHORT.get(word, word) for word, _ in rest if word not in _IDLE_WORDS]
        return Command(first, named[0]) if len(named) == 1 and named[0] in DIRECTIONS else None
    verb = BY_WORD.get(first)
    if verb is None:
        return None
    if not verb.takes:
        return Command(verb.name)
    return _with_rest(verb, rest)


def _with_rest(verb: Verb, rest: list[tuple[str, str]]) -> Command:
    """The thing and the direction behind a verb."""
    item: list[str] = []
    direction = ""
    letter = "item" in verb.takes and bool(rest) and _starts_with_letter(rest)
    for word, _ in rest[1:] if letter else rest:
        towards = _SHORT.get(word, word)
        if "direction" in verb.takes and towards in DIRECTIONS:
            direction = towards
        elif "item" in verb.takes and word not in _IDLE_WORDS:
            item.append(word)
    return Command(verb.name, direction, rest[0][1] if letter else " ".join(item))


def _starts_with_letter(rest: list[tuple[str, str]]) -> bool:
    """Whether a single letter names an item ("apply a east") and is no article ("apply a key")."""
    return len(rest[0][1]) == 1 and all(
        _SHORT.get(word, word) in DIRECTIONS or word in _IDLE_WORDS for word, _ in rest[1:]
    )


def thing(letter: str, name: str) -> str:
    """A thing as it is listed for an answer, in the manner of NetHack's menus: ``f - an apple``."""
    return f"{letter} - {name}"


def named_thing(words: str, listed: Sequence[str]) -> str | None:
    """The listed thing that an answer names: by its letter, or by words of its name; of several that fit the newest.

    Args:
        words: The answer. Case, articles and small words do not count in a name; a letter has its own case.
        listed: The answers as they are listed, the newest thing last.

    Returns:
        The thing as it is listed; None where there is none.
    """
    things = [answer for answer in listed if _THING.match(answer)]
    if len(words) == 1:
        return next((found for found in things if found[0] == words), None)
    wanted = [word for word in words.lower().split() if word not in _IDLE_WORDS]
    fitting = [found for found in things if all(word in _THING.sub("", found).lower() for word in wanted)]
    return fitting[-1] if wanted and fitting else None


def clean(command: str, admissible: Sequence[str] | None) -> Cleaned:
    """From what a model wrote to the one command that the game gets.

    1. What is listed is sent as written.
    2. Otherwise the first line counts; what `parse` reads is sent in its listed form ("Go north!" is ``step north``).
    3. What is equal to a listed answer when case, quotes and a full stop are left out is that answer (the game may be
       asking a question).
    4. Where a question is open, "yes" is ``y``, "step east" is ``east`` and "the apple" is ``f - an apple`` (see
       `named_thing`); a thing's letter is sent as it is, and a command is no answer.
    5. Anything else is sent after these steps all the same, and the environment answers it.

    Nothing is snapped to a nearest command.

    Args:
        command: The action text found in the model's reply.
        admissible: The commands listed here and now, or None.

    Returns:
        The command ("" if nothing is left) and whether it is exact, repaired, invalid or absent.
    """
    if admissible is not None and command in admissible:
        return Cleaned(command, Repair.EXACT)
    plain = clean_command(command, admissible)
    if not plain.command or (admissible is not None and plain.repair is Repair.REPAIRED):
        return plain
    found = parse(plain.command)
    if admissible is not None and CANCEL in admissible:
        said = SPOKEN.get(plain.command.lower()) or (found.direction if found is not None else "")
        if said not in admissible:
            said = named_thing(plain.command, admissible) or ""
            if said and plain.command == said[0]:
                return Cleaned(plain.command, Repair.EXACT if plain.command == command else Repair.REPAIRED)
        return Cleaned(said, Repair.REPAIRED) if said else Cleaned(plain.command, Repair.INVALID)
    if found is None:
        return Cleaned(plain.command, Repair.INVALID)
    text = str(found)
    return Cleaned(text, Repair.EXACT if text == command else Repair.REPAIRED)
