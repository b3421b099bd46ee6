"""Hygiene of what an environment says: nothing that a terminal, a report or a model would stumble over."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from metagym.checks import shown
from metagym.families import Cleaned

MAX_TEXT = 20_000
"""Longest observation, in characters: about 5,000 tokens, of which a window of 32k holds a handful."""

MAX_ACTION = 500
"""Longest legal action: the default cleaning rule cuts commands there."""

_RAW = (
    (re.compile(r"<[^<>\n]{1,200} at 0x[0-9a-fA-F]+>"), "the repr of an object"),
    (re.compile(r"\b(?:nd)?array\(\["), "the repr of an array"),
    (re.compile(r"<class '[\w.]+'>"), "the repr of a class"),
    (re.compile(r"\bnp\.(?:u?int|float|bool|str)\w*\("), "the repr of a number of NumPy"),
)


def faults_of(text: Any) -> list[str]:
    """What is wrong with a text, each as the end of a sentence that begins with what the text is.

    Args:
        text: An observation, a paragraph of instructions, a legal action.

    Returns:
        [] where nothing is wrong.
    """
    if not isinstance(text, str):
        return [f"is of type {type(text).__name__}: it must be text"]
    found = []
    for place, mark in enumerate(text):
        kind = unicodedata.category(mark)
        if (kind == "Cc" and mark not in "\n\t") or kind == "Cs":
            what = "half a surrogate pair" if kind == "Cs" else f"the control character {mark!r}"
            found.append(f"holds {what} at position {place}: write printable text, line feeds and tabs only")
            break
    for pattern, what in _RAW:
        if match := pattern.search(text):
            found.append(f"holds {what}, {shown(match[0])}: say what it means in words")
    if len(text) > MAX_TEXT:
        found.append(f"has {len(text):,} characters: summarise what is longer than {MAX_TEXT:,}")
    return found


def faults_of_legal(admissible: Any, clean: Callable[[str, Sequence[str] | None], Cleaned] | None = None) -> list[str]:
    """What is wrong with a list of legal actions.

    Args:
        admissible: ``info["admissible"]``; None where there is no list.
        clean: The family's cleaning rule, which must leave a legal action as it is.

    Returns:
        [] where nothing is wrong.
    """
    if admissible is None:
        return []
    if not isinstance(admissible, (list, tuple)):
        return [f"is of type {type(admissible).__name__}: make it a tuple of texts"]
    found = []
    for action in admissible:
        found += [f"has an action that {fault}" for fault in faults_of(action)]
        if not isinstance(action, str):
            continue
        if not action or action != action.strip() or "\n" in action or len(action) > MAX_ACTION:
            found.append(
                f"has the action {shown(action)}: an action is one line of at most {MAX_ACTION} characters "
                "without blanks around it"
            )
        elif clean is not None and (kept := clean(action, admissible).command) != action:
            found.append(
                f"has the action {shown(action)}, of which the family's cleaning rule makes {shown(kept)}: "
                "the rule must leave legal actions as they are"
            )
    if len(set(map(str, admissible))) != len(admissible):
        twice = next(action for action in admissible if list(admissible).count(action) > 1)
        found.append(f"holds {shown(twice)} twice: list each action once")
    return list(dict.fromkeys(found))
