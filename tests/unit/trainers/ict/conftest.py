"""Rows of the toy world, and a way to write completions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from metagym.ict.collect import collect
from metagym.ict.loop import Seats, memory_records
from metagym_trainers.tiny import ict_world


@pytest.fixture(scope="session")
def rows() -> list[dict[str, Any]]:
    """Sixteen collected rows of the toy world."""
    ict_world.register()
    config = ict_world.settings("train", 3)
    return asyncio.run(collect(config, 4, Seats.of(config, ict_world.family()), memory_records()))


@pytest.fixture(scope="session")
def right() -> Callable[[dict[str, Any]], str]:
    """The completion that solves all tasks of a row."""

    def write(row: dict[str, Any]) -> str:
        tools = dict(zip(ict_world.HAZARDS, ict_world.TOOLS, strict=True))
        return f"{ict_world.HEADING} {' '.join(tools[task['id'].split('-')[1]] for task in row['tasks'])}"

    return write
