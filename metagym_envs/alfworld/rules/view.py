"""What a player knows of a household game, folded from the observations alone (never from the game's state)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from metagym_envs.alfworld.rules.intents import TREATMENTS, Treatment

_NAME = re.compile(r"\ban? ([^,.]+? \d+)")
_ROOM = re.compile(r"Looking quickly around you, you see ([^\n]*)")
_TASK = re.compile(r"^Your task is to: *(.*?)\.?$", re.MULTILINE)
_INSIDE = re.compile(r"(?:On the ([^,\n]+?)|The ([^,.\n]+?) is open\. In it), you see ([^\n]*?)\.(?:\s|$)")
_CLOSED = re.compile(r"The ([^,.\n]+? \d+) is closed\.")
_MADE = (
    ("take", re.compile(r"^You pick up the (.+?) from the (.+?)\.")),
    ("put", re.compile(r"^You (?:move|put) the (.+?) (?:to|in/on|in|on) the (.+?)\.")),
    ("close", re.compile(r"^You close the (.+?)\.()")),
    ("use", re.compile(r"^You turn on the (.+?)\.()")),
    ("treat", re.compile(r"^You (heat|cool|clean) the (.+?) using the .+?\.")),
)


def kind(name: str) -> str:
    """``"cabinet 3"`` -> ``"cabinet"``."""
    return name.rpartition(" ")[0] or name


@dataclass(frozen=True)
class Goal:
    """What the task sentence asks for.

    Attributes:
        sentence: The sentence itself.
        thing: Kind of the object; "" if the sentence could not be read.
        place: Kind of the destination; "" where the task names none.
        treatment: What is to be done to the object first; None for nothing.
        tool: Kind of the tool that the task itself names (a lamp); "" otherwise.
    """

    sentence: str
    thing: str = ""
    place: str = ""
    treatment: Treatment | None = None
    tool: str = ""


_LOOK = re.compile(
    r"^(?:look at|examine|inspect) (?:an? |the |some )?(\w+) (?:under|with|using|by) (?:an? |the )?(\w+)$"
)
_PUT = re.compile(
    r"^(?:put|place|find|move) (?:an? |the |some |two |three |all )*(?:(\w+) )?(\w+)(?: and put (?:it|them))? "
    r"(?:in|on|to|into) "
    r"(?:an? |the )?(\w+)$"
)
_DO = re.compile(
    r"^(\w+) (?:an? |the |some |two )*(\w+) and (?:then )?(?:put|place) (?:it|them) (?:in|on|into) (?:an? |the "
    r")?(\w+)$"
)
_LIGHT = next(treatment for treatment in TREATMENTS if not treatment.tools)


def _asked(word: str | None) -> Treatment | None:
    return next((treatment for treatment in TREATMENTS if word in treatment.asked_by), None)


@lru_cache(maxsize=4096)
def read_goal(sentence: str) -> Goal:
    """Reads a task sentence in ALFWorld's forms; one in another form gives a goal that names nothing."""
    text = " ".join(sentence.lower().split())
    match = _LOOK.match(text)
    if match:
        return Goal(sentence, match[1], treatment=_LIGHT, tool=match[2])
    match = _DO.match(text)
    if match and _asked(match[1]):
        return Goal(sentence, match[2], match[3], _asked(match[1]))
    match = _PUT.match(text)
    if match:
        return Goal(sentence, match[2], match[3], _asked(match[1]))
    return Goal(sentence)


@dataclass(frozen=True)
class Event:
    """What one observation tells.

    Attributes:
        arrived: Whether the player has just come to the place it shows.
        shows: Place to the things seen there, for the places shown open.
        closed: The place shown closed; "" for none.
        made: ``take``, ``put``, ``close``, ``use`` or ``treat``; "" for none of these.
        names: Its two names: (thing, place), or (verb, thing) of a treatment.
    """

    arrived: bool = False
    shows: tuple[tuple[str, tuple[str, ...]], ...] = ()
    closed: str = ""
    made: str = ""
    names: tuple[str, str] = ("", "")


_NOTHING = Event()


@lru_cache(maxsize=65536)
def read_event(observation: str) -> Event:
    """Reads one observation of the engine, in the wording of either grammar generation."""
    if not observation.startswith(("You ", "On the ", "The ")):
        return _NOTHING
    for made, form in _MADE:
        match = form.match(observation)
        if match:
            return Event(made=made, names=(match[1], match[2]))
    shows = tuple((match[1] or match[2], tuple(_NAME.findall(match[3]))) for match in _INSIDE.finditer(observation))
    shut = _CLOSED.search(observation)
    return Event(observation.startswith("You arrive at "), shows, shut[1] if shut else "")


@lru_cache(maxsize=4096)
def _opening(text: str) -> tuple[Goal, tuple[str, ...]]:
    tasks, rooms = _TASK.findall(text), _ROOM.findall(text)
    return read_goal(tasks[-1].strip() if tasks else ""), tuple(_NAME.findall(rooms[-1])) if rooms else ()


class View:
    """What is known after some observations.

    Args:
        opening: The first observation: the room and the line "Your task is to: ...".

    Attributes:
        goal: See `Goal`.
        places: The receptacles of the room, as listed.
        here: Where the player stands; "" before its first move.
        held: The thing in hand; "" for none.
        contents: Place to the set of things last seen there; a place whose inside was never seen is absent.
        where: Thing to the place it was last seen at.
        visited: Places the player has gone to.
        closed: Places that are known to be closed.
        delivered: Things put down at a place of the wanted kind, to that place.
        treated: Pairs (treatment, thing) that were done.
    """

    __slots__ = ("goal", "places", "here", "held", "contents", "where", "visited", "closed", "delivered", "treated")

    def __init__(self, opening: str) -> None:
        self.goal, self.places = _opening(opening)
        self.here = self.held = ""
        self.contents: dict[str, set[str]] = {}
        self.where: dict[str, str] = {}
        self.visited: set[str] = set()
        self.closed: set[str] = set()
        self.delivered: dict[str, str] = {}
        self.treated: set[tuple[str, str]] = set()

    def add(self, observation: str) -> None:
        """Takes in the next observation."""
        event = read_event(observation)
        if event is _NOTHING:
            return
        shown = event.closed
        for place, things in event.shows:
            shown = place
            self.contents[place] = set(things)
            self.closed.discard(place)
            for thing in things:
                self.where[thing] = place
        if event.closed:
            self.closed.add(event.closed)
        if event.arrived and shown:
            self.here = shown
            self.visited.add(shown)
        if event.made:
            self._made(event)

    def _made(self, event: Event) -> None:
        first, second = event.names
        if event.made == "take":
            self.held = first
            self.where.pop(first, None)
            self.delivered.pop(first, None)
            self.contents.get(second, set()).discard(first)
        elif event.made == "put":
            self.held = ""
            self.where[first] = second
            self.contents.setdefault(second, set()).add(first)
            if kind(first) == self.goal.thing and kind(second) == self.goal.place and not self.needs(first):
                self.delivered[first] = second
        elif event.made == "close":
            self.closed.add(first)
        elif event.made == "treat":
            self.treated.add((first, second))
            # Heat and cold undo each other.
            if first in ("heat", "cool"):
                self.treated.discard(("cool" if first == "heat" else "heat", second))

    def correct(self, commands: Sequence[str]) -> None:
        """Takes what is in hand from the legal commands, since a history window may hide how it came there.

        An object can be examined only while it is held.
        """
        for command in commands:
            if command.startswith("examine ") and command[8:] not in self.places:
                self.held = command[8:]

    def wanted(self, thing: str) -> bool:
        """Whether the task names this kind of thing and this one is not delivered yet."""
        return bool(thing) and kind(thing) == self.goal.thing and thing not in self.delivered

    def needs(self, thing: str) -> Treatment | None:
        """What is still to be done to a wanted thing before it is delivered; None for nothing."""
        treatment = self.goal.treatment
        if treatment is None or (treatment.name, thing) in self.treated:
            return None
        return treatment

    def tool_places(self, treatment: Treatment) -> list[str]:
        """Known places at which a treatment can be done: an appliance, or wherever the named tool was seen."""
        if treatment.tools:
            return [place for place in self.places if kind(place) in treatment.tools]
        return sorted({place for thing, place in self.where.items() if kind(thing) == self.goal.tool})

    def tools_here(self) -> list[str]:
        """Tools named by the task that stand here."""
        tool = self.goal.tool
        return [thing for thing, place in self.where.items() if tool and place == self.here and kind(thing) == tool]

    def destinations(self) -> list[str]:
        """Places of the wanted kind; the one alone that already got something, since all must end in the same."""
        if self.delivered:
            return sorted(set(self.delivered.values()))[:1]
        return [place for place in self.places if kind(place) == self.goal.place]

    def seen_wanted(self) -> list[str]:
        """Wanted things whose place is known, in a stable order."""
        return sorted(thing for thing in self.where if self.wanted(thing))
