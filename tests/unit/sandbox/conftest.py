"""Pools that the sandbox's tests share: starting one takes a quarter of a second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metagym.sandbox import Limits, SandboxPool
from metagym.sandbox.pool import Switches
from tests.support.sandbox import CORPUS_LIMITS


@pytest.fixture(scope="session")
def bare_pool() -> Iterator[SandboxPool]:
    """Every layer but the language's: programs are plain Python."""
    with SandboxPool(numpy=False, switches=Switches(language=False), limits=Limits(call_s=1.0)) as pool:
        yield pool


@pytest.fixture(scope="session")
def pool() -> Iterator[SandboxPool]:
    """The ordinary pool."""
    with SandboxPool(limits=CORPUS_LIMITS) as pool:
        yield pool


@pytest.fixture(scope="session")
def full_pool() -> Iterator[SandboxPool]:
    """With a guard at every read, and another hash seed."""
    with SandboxPool(guards="full", hash_seed=4_242, limits=CORPUS_LIMITS) as pool:
        yield pool
