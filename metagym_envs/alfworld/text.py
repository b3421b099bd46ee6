"""The one rule that turns a model's free text into at most one engine command."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metagym.episodes import Repair
from metagym.families import Cleaned

LONGEST = 200
"""A command is cut at this many characters; the longest real one has about 60."""

INSTRUCTIONS = (
    "You are in a household and are given one task, such as putting a clean mug in a cabinet. You act by writing one "
    "command per turn and read what happens. Things and places are named by kind and number, e.g. mug 2 or cabinet 1; "
    "use the names that you have seen. You can carry one thing at a time and reach only what is where you stand. "
    "Commands: look; inventory; go to <place>; open <place>; close <place>; take <thing> from <place>; "
    "move <thing> to <place> (in older games: put <thing> in/on <place>); examine <thing or place>; "
    "use <lamp>; heat <thing> with <microwave>; cool <thing> with <fridge>; clean <thing> with <sinkbasin>; "
    'slice <thing> with <knife>. A command that is not possible here and now is answered with "Nothing happens."'
)
"""What the actor is told about the world; names every command form and gives no advice."""

_NEXT_COMMAND = re.compile(r"[;,|&→⇒]|[-=]+>|[.!?](?:\s|$)|\b(?:then|and)\b", re.IGNORECASE)
_MARKS = re.compile(r"[\"'`*_<>\[\](){}“”‘’«»]")
_ARTICLE = re.compile(r"\b(?:the|a|an)\b ?")
_PUT = re.compile(r"(?:put|move|place) (.+?) (?:in/on|into|onto|in|on|to) (.+)")


def clean_command(command: str, admissible: Sequence[str] | None) -> Cleaned:
    """From what a model wrote to the one command that the engine gets.

    1. A command that is legal as written is sent as written.
    2. Otherwise the first line with anything in it counts, cut at `LONGEST` characters; of several commands in it, set
       apart by "then", "and", a comma, a semicolon, an arrow or a full stop, the first.
    3. Quotes, brackets, asterisks, prompt marks and emoji are dropped, upper case becomes lower case, blanks are
       folded, the articles "the", "a", "an" are dropped.
    4. "put X in/on Y" (also in, on, into, onto), "place X ..." and "move X to Y" mean the same; the form that this
       game lists is sent. If neither is listed, a game that knows "help" is of the present grammar and says "move".

    Nothing else is guessed: no missing number is filled in, and no text is snapped to a nearest legal command. What is
    not legal after these steps is sent all the same and the engine answers it, so that it costs one step.

    Args:
        command: The action text found in the model's reply; any text at all.
        admissible: The legal commands here and now; None where they are not known (step 4 is left out then).

    Returns:
        The command ("" if nothing is left) and whether it is exact, repaired, invalid or absent.
    """
    if admissible is not None and command in admissible:
        return Cleaned(command, Repair.EXACT)
    text = _plain(_first_command(command))
    if not text:
        return Cleaned("", Repair.ABSENT)
    if admissible is None:
        return Cleaned(text, Repair.EXACT if text == command else Repair.REPAIRED)
    if text not in admissible and (put := _PUT.fullmatch(text)):
        thing, place = put.groups()
        new, old = f"move {thing} to {place}", f"put {thing} in/on {place}"
        text = new if new in admissible or ("help" in admissible and old not in admissible) else old
    return Cleaned(text, Repair.REPAIRED if text in admissible else Repair.INVALID)


def _first_command(text: str) -> str:
    """The first piece with a letter or digit in it, of the first such line."""
    for line in text.splitlines():
        for piece in _NEXT_COMMAND.split(line[:LONGEST]):
            if any(character.isalnum() for character in piece):
                return piece
    return ""


def _plain(text: str) -> str:
    """Lower-case words of printable ASCII, one blank between them, without articles and marks."""
    ascii_only = "".join(c if " " <= c <= "~" else " " for c in _MARKS.sub(" ", text.casefold()))
    words = _ARTICLE.sub("", " ".join(ascii_only.split()))
    return words.strip(" .:!?-#")
