"""The generations of ALFWorld's text: what one grammar says differently from another."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from metagym.errors import BadInput

NOTHING_HAPPENS: Final = "Nothing happens."
BANNER: Final = "-= Welcome to TextWorld, ALFRED! =-\n\n"
TASK_LEAD: Final = "Your task is to: "

# What `help` answers since 0.4. The engine loses the newline that its grammar puts before this text and keeps the last.
HELP: Final = (
    "Available commands:\n"
    "  look:                             look around your current location\n"
    "  inventory:                        check your current inventory\n"
    "  go to (receptacle):               move to a receptacle\n"
    "  open (receptacle):                open a receptacle\n"
    "  close (receptacle):               close a receptacle\n"
    "  take (object) from (receptacle):  take an object from a receptacle\n"
    "  move (object) to (receptacle):  place an object in or on a receptacle\n"
    "  examine (something):              examine a receptacle or an object\n"
    "  use (object):                     use an object\n"
    "  heat (object) with (receptacle):  heat an object using a receptacle\n"
    "  clean (object) with (receptacle): clean an object using a receptacle\n"
    "  cool (object) with (receptacle):  cool an object using a receptacle\n"
    "  slice (object) with (object):     slice an object using a sharp object\n"
)


@dataclass(frozen=True)
class Wording:
    """How one generation of the grammar and domain differs.

    Attributes:
        put_verb: First word of the command that puts a thing down.
        put_join: What stands between the thing and the receptacle, blanks included.
        arrives_at_receptacle: "You arrive at cabinet 1." if True, "You arrive at loc 6." if False.
        has_help: Whether `help` is a command.
        sink_types: Receptacle types (lower case) in which things are cleaned.
    """

    put_verb: str
    put_join: str
    arrives_at_receptacle: bool
    has_help: bool
    sink_types: frozenset[str]


_BASIN = frozenset({"sinkbasintype"})

WORDINGS: Final = MappingProxyType(
    {
        "0.4": Wording("move", " to ", True, True, _BASIN),
        "legacy": Wording("put", " in/on ", False, False, _BASIN | {"sinktype"}),
        "0.3": Wording("put", " in/on ", False, False, _BASIN),
    }
)


def wording(generation: str) -> Wording:
    """The wording of a generation.

    Args:
        generation: ``"0.4"`` (package 0.4 and later), ``"legacy"`` (the games published as json_2.1.1) or ``"0.3"``
            (the package before 0.4: as legacy, but a thing is cleaned in a sink *basin* only).

    Raises:
        BadInput: There is no such generation.
    """
    found = WORDINGS.get(generation)
    if found is None:
        raise BadInput(f"generation must be one of {', '.join(WORDINGS)}, got {generation!r}")
    return found
