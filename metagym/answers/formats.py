"""The tag automaton of Search-R1's format reward: start -> think -> (search -> information -> think)* -> answer.

Transitions as in that project's ``is_valid_sequence``: every tag closes before the next opens, and nothing but blanks
stands between blocks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

STRUCTURE = 0.2
"""Paid for a valid sequence with a wrong answer, and taken off a right answer without one."""
ANSWERED = 0.1
"""Paid for a wrong answer without a valid sequence."""

_TAGS = re.compile(r"(</?(?:think|search|information|answer)>)")
_NEXT: Mapping[tuple[str, str], str] = {
    ("start", "<think>"): "in think",
    ("in think", "</think>"): "thought",
    ("thought", "<search>"): "in search",
    ("in search", "</search>"): "searched",
    ("searched", "<information>"): "in information",
    ("in information", "</information>"): "informed",
    ("informed", "<think>"): "in think",
    ("thought", "<answer>"): "in answer",
    ("in answer", "</answer>"): "end",
}


def format_valid(text: str) -> bool:
    """Whether a transcript (the model's turns with the information blocks between them) keeps to the form.

    Args:
        text: From the model's first character on, without prompt and role marks.
    """
    state = "start"
    for part in _TAGS.split(text):
        if _TAGS.fullmatch(part):
            state = _NEXT.get((state, part), "")
            if not state:
                return False
        elif part.strip() and not state.startswith("in "):
            return False
    return state == "end"


def format_reward(
    *, right: bool, answered: bool, valid: bool, retrieved: bool = False, retrieval: float = 0.0
) -> float:
    """Search-R1's format reward.

    Args:
        right: The answer is exact.
        answered: There is an answer.
        valid: `format_valid` of the transcript.
        retrieved: A golden answer stands in an information block.
        retrieval: Added for that where the sequence is valid and the answer is not right (0 in the released script).

    Returns:
        Right: 1, or 0.8 without a valid sequence. Else with one: 0.2 (and `retrieval`). Else 0.1 where there is an
        answer, 0 where there is none.
    """
    if right:
        return 1.0 if valid else 1.0 - STRUCTURE
    if valid:
        return STRUCTURE + (retrieval if retrieved else 0.0)
    return ANSWERED if answered else 0.0
