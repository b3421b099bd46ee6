"""Entries whose own answer cannot be found out: the known-defect split.

An issue of the benchmark's repository (ShishirPatil/gorilla, issue 1367, 2026) reports that 27 of the 200 entries of
multi_turn_base are failed by every one of 18 models, in several because "gold contains text the tools never produce". The
list here is narrower and checked, not judged. An entry stands on it if one of its answer's calls holds a text of four words or
more such that

1. nothing that an agent can have read by then contains it (the user's words so far, the initial state, the results of the
   answer's calls so far; case, punctuation and blanks do not count), no template with a placeholder that the user dictates
   fits it, and it is no list of names all of which can be read; and
2. the package's checker refuses the conversation as soon as another text stands in its place.

`tests/envs/bfcl/test_known_defects.py` derives the list anew from the data and demands that it is this one. It is a lower
bound: what is wrong in other ways (numbers, ambiguous wishes) is not on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from metagym_envs.bfcl import data

DATA = "611b3cf4796bfc2da3bbf39f6e4e647210349d4863f0703081a522ed8bc3c2cb"
"""The data that the list is about, see `metagym_envs.bfcl.data.digest`."""

DEFECTS: Mapping[str, str] = {}
"""Entry -> what is wrong."""


@lru_cache(maxsize=1)
def known_data() -> bool:
    """Whether the installed data are those that the list is about."""
    return data.digest() == DATA


def defect(entry_id: str) -> str | None:
    """What is known to be wrong with an entry; "" where nothing is, None where the data are others than the list's."""
    return DEFECTS.get(entry_id, "") if known_data() else None
