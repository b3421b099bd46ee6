"""Small runs of SPADE for tests: scripted stand-ins; trusted programs in this process where no sandbox is needed."""

from __future__ import annotations

import asyncio
import warnings
from functools import cache
from typing import Any

from metagym.sandbox import SandboxPool
from metagym.spade.config import SpadeConfig
from metagym.spade.hosts import PlayerSettings
from metagym.spade.loop import Event, Loop
from metagym.spade.memory_store import RamStore
from metagym.spade.seating import Seats
from metagym.spade.stand_ins.programs import number_lock
from metagym.spade.validation import MemoryCache, ValidationSettings
from metagym.spade.workshop import Workshop

VERDICTS = MemoryCache()
"""Verdicts of the stand-ins' own programs, found once for all tests of a process."""


@cache
def inside() -> tuple[SandboxPool, SandboxPool]:
    """Pools for trusted programs: no worker is forked. Their one warning is for users, not for tests."""
    pool = SandboxPool(isolation="inprocess")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pool.load(number_lock(2))
    return pool, pool


def config(**changes: Any) -> SpadeConfig:
    """Settings of a run that takes moments."""
    settings: dict[str, Any] = {
        "agent": "scripted:learner?theta=4&gain=0.03&most=9",
        "designer": "scripted:mutator",
        "hint": "program",
        "rounds": 2,
        "programs": 3,
        "corpus": "frozen",
        "seeds": 4,
        "repeats": 2,
        "player": PlayerSettings(max_steps=8),
        "validation": ValidationSettings(audit="off", seeds=3),
    }
    return SpadeConfig(**{**settings, **changes})


def run(
    config: SpadeConfig, *, workers: int = 2, trusted: bool = True, **options: Any
) -> tuple[Loop, RamStore, list[Event]]:
    """A whole run; the loop, its records and what it told."""
    records, events = RamStore(), []
    options.setdefault("records", records)

    async def go() -> Loop:
        seats = Seats.of(config)
        workshop = Workshop(config, seats, pools=inside() if trusted else None, cache=VERDICTS)
        loop = Loop(workshop, options.pop("records"), workers=workers, on_event=events.append, **options)
        try:
            await loop.run()
        finally:
            await seats.close()
        return loop

    return asyncio.run(go()), records, events


def texts(records: RamStore) -> list[tuple[str, str]]:
    """Keys and texts of records, in the order in which they were written."""
    return list(records._texts.items())
