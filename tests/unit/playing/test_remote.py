"""Pools on workers that can be lost: scheduling, replays and errors, on stations of this process (no Ray)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

import pytest

from metagym import Episode, Family, Task
from metagym.chat import Request, load, scripted
from metagym.chat.accounts import Accounted, Budget, Ledger
from metagym.episodes import Status
from metagym.errors import (
    BadInput,
    ClusterError,
    DeadlineExceeded,
    HostError,
    MetaGymWarning,
    NodeLost,
    TooManyFailures,
)
from metagym.families import load_family
from metagym.playing import crew as crews
from metagym.playing import remote
from metagym.playing.crew import Crew
from metagym.playing.hosts import EpisodePool
from metagym.playing.runner import PlaySettings, play, play_async
from metagym.playing.station import Station, packed, unpacked
from tests.support.stations import NearCluster, NearWorker
from tests.support.worlds import FailingEnv, GuessEnv, family_of, guess_family


def texts(episodes: Sequence[Episode]) -> list[str]:
    return [json.dumps(episode.to_json(), sort_keys=True) for episode in episodes]


def guess(request: Request) -> str:
    return "Action: " + ("red", "green", "blue")[len(request.messages) // 2 % 3]


def played(pool: Any, family: Family, count: int = 8, actor: Any = None, **options: Any) -> list[Episode]:
    async def go() -> list[Episode]:
        try:
            tasks = list(family.task_set("train"))[:count]
            model = actor or scripted(guess, id="guess")
            return await play_async(tasks, model, family=family, hosts=pool, max_steps=3, **options)
        finally:
            await pool.close()

    return asyncio.run(go())


def at_home(family: Family, count: int = 8, actor: Any = None, **options: Any) -> list[Episode]:
    tasks = list(family.task_set("train"))[:count]
    return play(tasks, actor or scripted(guess, id="guess"), family=family, max_steps=3, **options)


@pytest.mark.parametrize("whole", [False, True])
def test_records_are_those_of_this_process_wherever_it_is_played(whole: bool) -> None:
    family, cluster = guess_family(), NearCluster(3)
    assert texts(played(cluster.pool(whole=whole), family, 20)) == texts(at_home(family, 20))
    assert all(worker.ended for worker in cluster.workers)
    called = {name for worker in cluster.workers for name in worker.calls}
    assert called == {"hello", "learn", "end"} | ({"episode"} if whole else {"open", "reset", "step", "close"})
    assert all(worker.calls.count("learn") == 1 for worker in cluster.workers)  # the family is sent once


@pytest.mark.parametrize("whole", [False, True])
def test_generated_household_games_are_equal_on_workers_and_here(whole: bool) -> None:
    family = load_family("ALFWorld")
    tasks = list(family.task_set(family.splits[0]))[:6]
    pool = NearCluster(2).pool(whole=whole)

    async def go() -> list[Episode]:
        try:
            return await play_async(tasks, "rules", family=family, hosts=pool, max_steps=12)
        finally:
            await pool.close()

    assert texts(asyncio.run(go())) == texts(play(tasks, "rules", family=family, hosts="inline", max_steps=12))


def test_episodes_of_a_lost_worker_are_played_again_and_finished_ones_are_not() -> None:
    family = guess_family()
    cluster = NearCluster(2, lambda number: NearWorker(f"near {number}", lose_at=7 if number == 0 else None))
    ended: list[str] = []
    pool = cluster.pool()
    found = played(pool, family, 12, on_episode=lambda episode: ended.append(episode.task.id))
    assert pool.crew.lost == 1
    assert texts(found) == texts(at_home(family, 12))
    assert sorted(ended) == sorted(episode.task.id for episode in found) and len(set(ended)) == 12
    assert len(cluster.workers) == 3  # the lost one was replaced
    opened = sum(worker.calls.count("open") for worker in cluster.workers)
    assert 12 < opened <= 12 + 6  # those that lived on the lost worker, and no others


def test_whole_episodes_of_a_lost_worker_are_played_again() -> None:
    family = guess_family()
    make = lambda number: NearWorker(f"near {number}", 3 if number == 0 else None, "episode")  # noqa: E731
    cluster = NearCluster(2, make)
    assert texts(played(cluster.pool(whole=True), family, 12)) == texts(at_home(family, 12))


def test_an_episode_that_loses_every_worker_is_an_error_with_its_cause() -> None:
    family = guess_family()
    cluster = NearCluster(1, lambda number: NearWorker(f"near {number}", lose_at=1))
    [episode] = played(cluster.pool(), family, 1, settings=PlaySettings(max_failures=1.0, max_steps=3))
    assert episode.status is Status.ERROR and episode.cause.startswith("NodeLost: worker near 3 is gone")
    assert len(cluster.workers) in (remote.REPLAYS + 1, remote.REPLAYS + 2)


def test_what_an_engine_raises_is_told_in_its_own_words() -> None:
    family = family_of(lambda task: FailingEnv())
    everywhere = PlaySettings(max_failures=1.0, max_steps=3)
    ours = at_home(family, 2, settings=everywhere)
    assert ours[0].cause == "RuntimeError: the engine broke"
    assert texts(played(NearCluster().pool(), family, 2, settings=everywhere)) == texts(ours)
    assert texts(played(NearCluster().pool(whole=True), family, 2, settings=everywhere)) == texts(ours)


class Ending(GuessEnv):
    def step(self, action: str) -> Any:
        raise SystemExit(3)


def test_an_engine_that_ends_its_process_ends_its_episode_alone() -> None:
    family = family_of(lambda task: Ending())
    everywhere = PlaySettings(max_failures=1.0)
    cluster = NearCluster(1)
    [episode] = played(cluster.pool(), family, 1, settings=everywhere)
    assert episode.status is Status.ERROR and "SystemExit: 3" in episode.cause and len(cluster.workers) == 1


class Odd(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def test_answers_hold_what_can_be_sent() -> None:
    async def go() -> None:
        station = Station()

        async def do_odd() -> None:
            raise Odd(1, 2)

        async def do_info() -> Any:
            return "text", {"kept": 1, "left": (x for x in ())}

        station.do_odd, station.do_info = do_odd, do_info  # type: ignore[attr-defined]
        with pytest.raises(HostError, match="Odd: 1 and 2"):  # an exception that can be written and not read
            unpacked(await station.answer(packed("odd")))
        assert unpacked(await station.answer(packed("info"))) == ["text", {"kept": 1}]
        with pytest.raises(HostError, match="environment is gone"):
            unpacked(await station.answer(packed("step", 7, "look")))
        with pytest.raises(HostError, match="program is gone"):
            unpacked(await station.answer(packed("program", 7, None)))
        with pytest.raises(HostError, match="cannot be read here"):
            unpacked(b"no pickle")

    asyncio.run(go())


class Slow(GuessEnv):
    def step(self, action: str) -> Any:
        time.sleep(0.05)
        return super().step(action)


def test_an_environment_that_is_too_slow_is_ended_there_and_its_worker_lives_on() -> None:
    family = family_of(lambda task: Slow(), host="thread")
    cluster = NearCluster(1)
    everywhere = PlaySettings(max_failures=1.0)
    [episode] = played(cluster.pool(deadline=0.01), family, 1, settings=everywhere)
    assert episode.cause.startswith("DeadlineExceeded: the environment did not finish its step within 0.01 s")
    assert len(cluster.workers) == 1


class Hung(NearWorker):
    """Answers nothing any more from its first call of `lose_in` on, whatever is asked."""

    async def call(self, name: str, *arguments: Any) -> Any:
        if name == self.lose_in or self.lose_in in self.calls:
            self.calls.append(name)
            await self.gone.wait()
            raise NodeLost("it was ended")
        return await super().call(name, *arguments)


@pytest.mark.parametrize(("whole", "at"), [(False, "learn"), (False, "open"), (False, "step"), (True, "episode")])
def test_a_worker_that_answers_no_more_is_ended_and_its_episodes_are_played_again(
    whole: bool, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GRACE_SECONDS", "WATCH_SECONDS", "START_SECONDS"):
        monkeypatch.setattr(remote, name, 0.2)
    cluster = NearCluster(2, lambda number: NearWorker(f"near {number}") if number else Hung("hung", lose_in=at))
    family, settings = guess_family(), PlaySettings(env_deadline=1.0, max_steps=3)
    found = played(cluster.pool(whole=whole, deadline=1.0), family, 6, settings=settings)
    assert texts(found) == texts(at_home(family, 6)) and cluster.workers[0].ended


def test_an_episode_that_hangs_every_worker_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "GRACE_SECONDS", 0.2)
    cluster = NearCluster(1, lambda number: Hung("hung", lose_in="step"))
    [episode] = played(cluster.pool(deadline=0.01), guess_family(), 1, settings=PlaySettings(max_failures=1.0))
    assert episode.status is Status.ERROR and "worker hung did not finish 'step' within 0.21 s" in episode.cause
    assert len(cluster.workers) > remote.REPLAYS


def test_a_long_whole_episode_of_a_worker_that_answers_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GRACE_SECONDS", "WATCH_SECONDS"):
        monkeypatch.setattr(remote, name, 0.05)
    family, cluster = guess_family(), NearCluster(1)
    found = played(cluster.pool(whole=True), family, 1, scripted(ponder, id="guess"))
    assert texts(found) == texts(at_home(family, 1)) and cluster.workers[0].calls.count("live") > 1


async def ponder(request: Request) -> str:
    await asyncio.sleep(0.2)
    return guess(request)


class Poisoned(NearWorker):
    """Ends when it steps in, or plays, the episode of one task: a stand-in for an engine that kills its process."""

    def __init__(self, name: str, task: str) -> None:
        super().__init__(name)
        self.task, self.open = task, -1

    async def call(self, name: str, *arguments: Any) -> Any:
        if name == "open" and arguments[2]["id"] == self.task:
            self.open = arguments[0]
        if (name == "step" and arguments[0] == self.open) or (name == "episode" and arguments[2].task.id == self.task):
            await asyncio.sleep(0.02)  # others are under way by now
            self.end()
        return await super().call(name, *arguments)


@pytest.mark.parametrize("whole", [False, True])
def test_an_episode_that_ends_its_workers_takes_no_other_with_it(whole: bool) -> None:
    family = guess_family()
    tasks = [task.id for task in list(family.task_set("train"))[:12]]
    cluster = NearCluster(1, lambda number: Poisoned(f"near {number}", tasks[3]))
    everywhere = PlaySettings(max_failures=1.0, max_steps=3)
    found = played(cluster.pool(whole=whole), family, 12, scripted(ponder, id="guess"), settings=everywhere)
    home = at_home(family, 12)
    assert [episode.task.id for episode in found if episode.status is Status.ERROR] == [tasks[3]]
    assert [line for at, line in enumerate(texts(found)) if at != 3] == [
        line for at, line in enumerate(texts(home)) if at != 3
    ]


def test_leases_go_to_the_least_busy_worker_and_wait_where_all_are_full() -> None:
    async def go() -> None:
        cluster = NearCluster(2)
        crew = Crew(cluster.begin, cluster.hire)
        one, two = await crew.lease(1), await crew.lease(1)
        assert one is not two
        third = asyncio.ensure_future(crew.lease(1))
        await asyncio.sleep(0)
        assert not third.done()
        crew.release(two)
        assert await third is two
        await crew.close()
        assert not crew.workers
        with pytest.raises(HostError, match="closed"):
            await crew.lease()

    asyncio.run(go())


def test_a_lease_alone_waits_for_the_others_and_keeps_them_away() -> None:
    async def go() -> None:
        cluster = NearCluster(1)
        crew = Crew(cluster.begin, cluster.hire)
        worker = await crew.lease()
        alone = asyncio.ensure_future(crew.lease(alone=True))
        await asyncio.sleep(0)
        other = asyncio.ensure_future(crew.lease())
        await asyncio.sleep(0)
        crew.release(worker)
        assert await alone is worker
        await asyncio.sleep(0.01)
        assert not other.done()
        crew.release(worker)
        assert await other is worker
        given_up = asyncio.ensure_future(crew.lease(alone=True))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        assert await asyncio.wait_for(crew.lease(), 5) is worker  # nothing is kept for who has gone
        alone = asyncio.ensure_future(crew.lease(alone=True))
        await asyncio.sleep(0)
        crew.drop(worker)
        assert (await alone) is not worker
        await crew.close()

    asyncio.run(go())


@pytest.mark.parametrize("error", [ClusterError("node x has Python 3.9"), NodeLost("x went"), OSError("no")])
def test_a_worker_that_is_not_replaced_ends_nothing_while_others_are_there(error: Exception) -> None:
    family, hired = guess_family(), []
    cluster = NearCluster(2, lambda number: NearWorker(f"near {number}", lose_at=7 if number == 0 else None))

    async def hire() -> Any:
        hired.append(1)
        if len(hired) > 2:
            raise error
        return await cluster.hire()

    with pytest.warns(MetaGymWarning, match="a lost worker is not replaced: "):
        found = played(remote.RemotePool(Crew(cluster.begin, hire)), family, 12)
    assert texts(found) == texts(at_home(family, 12))


def test_where_nobody_is_left_the_reason_is_told() -> None:
    cluster, hired = NearCluster(1, lambda number: NearWorker(f"near {number}", lose_at=2)), []

    async def hire() -> Any:
        hired.append(1)
        if len(hired) > 1:
            raise ClusterError("node x has Python 3.9, the driver 3.11")
        return await cluster.hire()

    with pytest.raises(ClusterError, match="node x has Python 3.9"):
        played(remote.RemotePool(Crew(cluster.begin, hire)), guess_family(), 4)


def test_a_cluster_that_refuses_its_worker_stops_everything() -> None:
    async def hire() -> Any:
        raise ClusterError("node x has Python 3.9, the driver 3.11")

    async def begin() -> int:
        return 2

    pool = remote.RemotePool(Crew(begin, hire))
    with pytest.raises(ClusterError, match="node x has Python 3.9"):
        played(pool, guess_family(), 4)


def test_a_cluster_without_room_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "HIRE_SECONDS", 0.05)

    async def hire() -> Any:
        await asyncio.sleep(3600)

    async def begin() -> int:
        return 1

    with pytest.raises(ClusterError, match="placed no worker within 0.05 s"):
        played(remote.RemotePool(Crew(begin, hire)), guess_family(), 1)


def test_whole_episodes_ask_no_model_whose_replies_or_budget_are_kept_here(tmp_path: Any) -> None:
    model = load(guess, cache=tmp_path / "replies.sqlite")
    with pytest.raises(BadInput, match="no reply cache"):
        played(NearCluster().pool(whole=True), guess_family(), 1, model)
    with pytest.raises(BadInput, match="no hard budget"):
        played(NearCluster().pool(whole=True), guess_family(), 1, load(guess, budget=Budget(calls=3)))
    lock = open(tmp_path / "x", "w")  # noqa: SIM115 - what no process can be sent
    with lock, pytest.raises(BadInput, match="cannot be sent to a cluster"):
        played(NearCluster().pool(whole=True), guess_family(), 1, scripted(lambda request: lock.name, id="held"))


def test_what_whole_episodes_spend_is_booked_here() -> None:
    ledger = Ledger()
    model = load("python:tests.unit.playing.test_remote:guess?price_in=1&price_out=1")
    accounted = Accounted(model, ledger, seat="actor")
    found = played(NearCluster().pool(whole=True), guess_family(), 5, accounted)
    assert ledger.totals()["seats"]["actor"]["usage"]["calls"] == sum(episode.steps for episode in found)


def test_a_pool_stays_on_its_loop_and_is_one_that_may_lose_workers() -> None:
    pool = NearCluster().pool()
    assert isinstance(pool, EpisodePool)
    asyncio.run(pool.crew.lease())  # type: ignore[arg-type]
    with pytest.raises(HostError, match="another event loop"):
        asyncio.run(pool.crew.lease())  # type: ignore[arg-type]


def test_replays_end() -> None:
    calls = []

    async def lost() -> None:
        calls.append(1)
        raise NodeLost("gone")

    with pytest.raises(NodeLost):
        asyncio.run(remote.replayed(lost, 2))
    assert len(calls) == 3


def test_too_many_lost_episodes_stop_the_batch_with_all_of_them() -> None:
    cluster = NearCluster(1, lambda number: NearWorker(f"near {number}", lose_at=1))
    with pytest.raises(TooManyFailures, match="NodeLost"):
        played(cluster.pool(), guess_family(), 2)


def test_deadlines_are_host_errors() -> None:
    assert issubclass(DeadlineExceeded, HostError) and issubclass(NodeLost, HostError)
    assert Task  # the noun that is sent
