"""The tests of this folder play the real data; without the package they are skipped with the way to get it."""

from __future__ import annotations

import pytest

from metagym.errors import MissingExtra
from metagym_envs.bfcl import package


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    try:
        package.root()
    except MissingExtra as error:
        skip = pytest.mark.skip(reason=str(error))
        for item in items:
            if "envs/bfcl/" in item.nodeid and "needs_no_package" not in item.name:
                item.add_marker(skip)
