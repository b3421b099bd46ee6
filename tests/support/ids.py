"""Registered ids whose family needs an extra that may be absent."""

from __future__ import annotations

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
