"""What TextWorld prints, without its banner, its status line and its prompt."""

from __future__ import annotations

import re
from itertools import dropwhile

INSTRUCTIONS = (
    "You play a text game in a small world of rooms. Commands are short sentences such as: look, inventory, go north, "
    "open fridge, take apple from table, put apple on stove, unlock door with key, examine cookbook, cook potato with "
    "oven, slice carrot with knife, prepare meal, eat meal. The objective stands in the first text."
)

_PROMPT = re.compile(r"\n>[^\n]*\Z")
_GAPS = re.compile(r"\n{3,}")


def shown(feedback: str) -> str:
    """The text of a turn as the actor sees it."""
    lines = [line.rstrip() for line in _PROMPT.sub("", feedback.rstrip()).splitlines()]
    words = dropwhile(lambda line: not any(map(str.isalnum, line)), lines)  # the banner is a drawing without a letter
    return _GAPS.sub("\n\n", "\n".join(words)).strip()
