"""The toy family of sums, registered for a test and gone after it."""

from collections.abc import Iterator

import pytest

from tests.support import quiz as support


@pytest.fixture
def quiz() -> Iterator[None]:
    with support.registered():
        yield
