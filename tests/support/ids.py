"""Registered ids for tests over all of them: what needs an absent extra, what is costly, and with which options."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium.envs.registration import registry

from metagym.errors import MissingExtra
from metagym.families import load_family


def skip_without_extra(id_: str) -> None:
    """Skips the test, with the pip command as its reason, where an extra of the id's family is not installed."""
    family = registry[id_].kwargs.get("family")
    if family is None:
        return
    try:
        load_family(family)
    except MissingExtra as error:
        pytest.skip(f"{id_}: {error}")


SMALL: dict[str, dict[str, Any]] = {
    "Reasoning": {"datasets": ["chain_sum", "spell_backward"], "size": 20},
    "TextWorld": {"challenges": "treasure_hunter", "settings": {"treasure_hunter": {"level": 1}}, "size": 12},
}
"""Options of families whose tasks are costly by default: by name of the family."""


def small(id_: str) -> dict[str, Any]:
    """Options with which an id is quick to make."""
    return next((options for name, options in SMALL.items() if name in id_), {})


def with_marks(id_: str) -> Any:
    """An id as a parameter; games that are compiled first are for the slow lane."""
    return pytest.param(id_, marks=pytest.mark.slow) if "TextWorld" in id_ else id_
