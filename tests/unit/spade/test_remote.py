"""Programs on workers that can be lost: real sandboxes behind stations of this process (no Ray)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from metagym.errors import BadInput, NodeLost, ProgramError, ProgramRejected
from metagym.sandbox import Limits, SandboxPool
from metagym.spade.hosts import staged
from metagym.spade.loop import Loop
from metagym.spade.memory_store import RamStore
from metagym.spade.program import EnvProgram
from metagym.spade.remote import RemoteProgram, staged_on
from metagym.spade.seating import Seats
from metagym.spade.workshop import Workshop
from tests.support.sandbox import env
from tests.support.stations import NearCluster, NearWorker
from tests.unit.spade.programs import LOCK
from tests.unit.spade.running import VERDICTS, config, texts


def records_of(cluster: NearCluster | None) -> list[tuple[str, str]]:
    """Keys and texts of the records of a small run, its programs played on the cluster or here."""
    settings, records = config(rounds=1, programs=2), RamStore()

    async def go() -> None:
        seats = Seats.of(settings)
        pool = cluster.pool() if cluster is not None else None
        stage = staged if pool is None else staged_on(pool)
        try:
            await Loop(Workshop(settings, seats, cache=VERDICTS, stage=stage), records, workers=2).run()
        finally:
            await seats.close()
            if pool is not None:
                await pool.close()

    asyncio.run(go())
    return texts(records)


def test_a_run_has_the_same_records_where_workers_are_lost_in_the_middle() -> None:
    at_home = records_of(None)
    assert at_home and records_of(NearCluster(2)) == at_home
    make = lambda number: NearWorker(f"near {number}", 60 if number < 2 else None, "program")  # noqa: E731
    cluster = NearCluster(2, make)
    assert records_of(cluster) == at_home
    assert sum(worker.gone.is_set() and worker.calls.count("program") >= 60 for worker in cluster.workers) >= 1
    assert len(cluster.workers) > 2


def test_what_goes_wrong_with_a_program_is_told_as_at_home() -> None:
    async def go() -> None:
        pool = NearCluster(1).pool()
        with pytest.raises(ProgramRejected):
            async with RemoteProgram(pool, "import os\n"):
                pass
        async with RemoteProgram(pool, env("raise ValueError('no')")) as program:
            await program.reset(0, 1, fresh=True)
            with pytest.raises(ProgramError, match="no"):
                await program.step("x", 1)
        await pool.close()

    asyncio.run(go())


def test_a_program_whose_worker_is_gone_says_so_at_each_call() -> None:
    async def go() -> None:
        cluster = NearCluster(1)
        pool = cluster.pool()
        async with RemoteProgram(pool, LOCK) as program:
            await program.reset(0, 1, fresh=True)
            cluster.workers[0].end()
            for _ in range(2):
                with pytest.raises(NodeLost):
                    await program.step("x", 1)
        await pool.close()

    asyncio.run(go())


class HungAtLoad(NearWorker):
    async def call(self, name: str, *arguments: Any) -> Any:
        if name == "load":
            await self.gone.wait()
        return await super().call(name, *arguments)


def test_a_worker_that_hangs_while_it_loads_a_program_is_a_lost_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagym.spade.remote.START_SECONDS", 0.1)

    async def go() -> None:
        cluster = NearCluster(1, lambda number: NearWorker("near") if number else HungAtLoad("hung"))
        pool = cluster.pool()
        with pytest.raises(NodeLost, match="worker hung did not finish 'load' within 0.6 s"):
            async with RemoteProgram(pool, LOCK, Limits(load_s=0.5)):
                pass
        async with RemoteProgram(pool, LOCK) as program:  # on the worker that was hired instead
            await program.reset(0, 1, fresh=True)
        await pool.close()

    asyncio.run(go())


def test_a_sandbox_of_this_machine_is_not_taken_for_a_cluster() -> None:
    async def go() -> Any:
        pool = NearCluster(1).pool()
        with SandboxPool(isolation="inprocess") as here, pytest.raises(BadInput, match="nodes' sandboxes"):
            async with staged_on(pool)(EnvProgram.parse(LOCK), here):
                pass

    asyncio.run(go())
