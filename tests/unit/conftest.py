"""Two toy families that are registered for a test and gone after it."""

from collections.abc import Iterator

import pytest
from gymnasium.envs.registration import registry

from metagym import families
from tests.support import doors as support


@pytest.fixture
def doors() -> Iterator[None]:
    ids, names = dict(registry), dict(families._factories)
    support.register()
    yield
    for table, kept in ((registry, ids), (families._factories, names)):
        table.clear()
        table.update(kept)
