"""The real engine, or a skip that says why it is not there."""

from __future__ import annotations

import pytest

from metagym.errors import BrokenExtra, MissingExtra
from metagym_envs.alfworld.judge import installed_texts


@pytest.fixture(scope="session")
def real_engine() -> tuple[str, str]:
    """Domain and grammar of the installed engine."""
    try:
        return installed_texts()
    except (MissingExtra, BrokenExtra) as error:
        pytest.skip(str(error))
