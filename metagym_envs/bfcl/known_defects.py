"""Entries whose own answer cannot be found out: the known-defect split.

An issue of the benchmark's repository (ShishirPatil/gorilla, issue 1367, 2026) reports that 27 of the 200 entries of
multi_turn_base are failed by every one of 18 models, in several because the answer holds text that no tool produces.
The list here is narrower, and each entry of it is checked, not judged. There are two kinds:

1. One of the answer's calls holds a text of four words or more that nothing contains which an agent can have read by
   then: the user's words so far, the initial state, the results of the answer's calls so far (case, punctuation and
   blanks do not count). No template with a placeholder that the user dictates fits it, and it is no list of names all
   of which can be read. And the package's checker refuses the conversation as soon as another text stands in its
   place.
2. A turn of miss_param wants no call, because something is said to be missing, but the user's words so far are those of
   multi_turn_base, where the answer does call: nothing is missing.

`tests/envs/bfcl/test_known_defects.py` derives the list anew from the data and demands that it is this one. It is a
lower bound: what is wrong in other ways (numbers, ambiguous wishes) is not on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from metagym_envs.bfcl import data

DATA = "611b3cf4796bfc2da3bbf39f6e4e647210349d4863f0703081a522ed8bc3c2cb"
"""The data that the list is about, see `metagym_envs.bfcl.data.digest`."""

_SORTED = "the tweet is to hold the sorted file; its one line sorts to itself, and the answer has other text"
_CENTS = "the user dictates a message that ends in $10000, and the answer has $10000.00"
_WORDED = "the answer has a ticket's description in words of its own, and the checker compares them"
_NOTHING_MISSING = "the user's words are those of multi_turn_base, where they are enough to book"

DEFECTS: Mapping[str, str] = {
    "multi_turn_base_4": _SORTED,
    "multi_turn_base_176": "the user dictates a description that says 2026, and the answer has 2023",
    "multi_turn_base_187": _WORDED,
    "multi_turn_miss_func_4": _SORTED,
    "multi_turn_miss_func_143": _CENTS,
    "multi_turn_miss_func_187": _WORDED,
    "multi_turn_miss_param_4": _SORTED,
    "multi_turn_miss_param_29": "the user's last question is to be written down, and the answer has it in other words",
    "multi_turn_miss_param_143": _CENTS,
    "multi_turn_miss_param_180": f"{_WORDED}; and {_NOTHING_MISSING}",
    "multi_turn_miss_param_187": _WORDED,
    "multi_turn_miss_param_195": _NOTHING_MISSING,
    "multi_turn_miss_param_199": _NOTHING_MISSING,
    "multi_turn_long_context_4": _SORTED,
    "multi_turn_long_context_11": "the tweet is to list a folder's files; 30 of those in the answer are not there",
    "multi_turn_long_context_143": _CENTS,
    "multi_turn_long_context_187": _WORDED,
}
"""Entry -> what is wrong with its answer."""


@lru_cache(maxsize=1)
def known_data() -> bool:
    """Whether the installed data are those that the list is about."""
    return data.digest() == DATA


def defect(entry_id: str) -> str | None:
    """What is known to be wrong with an entry; "" where nothing is, None where the data are others than the list's."""
    return DEFECTS.get(entry_id, "") if known_data() else None
