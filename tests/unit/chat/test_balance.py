"""One model on several servers: real ones on loopback that die, come back, hang, or serve something else."""

from __future__ import annotations

import asyncio
import collections
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx2", reason="the extra `openai` is not installed")

from hypothesis import given
from hypothesis import strategies as st

from metagym import chat, play
from metagym.chat import Message, Request, balance, find_layer, load
from metagym.chat.balance import Balanced, rendezvous
from metagym.errors import BadInput, MetaGymWarning, ServerUnavailable, SpecError
from tests.support.fake_server import FakeServer
from tests.support.worlds import guess_family

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "PROBE_AFTER", 0.05)
    monkeypatch.setattr(balance._Place, "__init__", _with(balance._Place.__init__, wait=0.05))


def _with(call: Callable[..., None], **fixed: Any) -> Callable[..., None]:
    return lambda self, *arguments, **named: call(self, *arguments, **{**fixed, **named})


def spec(*servers: FakeServer | Served, **params: Any) -> str:
    pairs = {"base_url": "|".join(server.base_url for server in servers), "retries": 0, **params}
    return "openai:fake?" + "&".join(f"{name}={value}" for name, value in pairs.items())


class Served:
    """A server in a process of its own, which can be killed: its connections die with it."""

    def __init__(self, text: str, port: int = 0, **options: str) -> None:
        given = [part for name, value in options.items() for part in (f"--{name}", value)]
        command = [sys.executable, "-m", "tests.support.fake_server", "--text", text, "--port", str(port), *given]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self.process.stdout is not None
        self.base_url = self.process.stdout.readline().strip()
        self.port = int(self.base_url.split(":")[2].split("/")[0])

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()


def conversation(number: int, turns: int = 0, system: str = "You play.") -> Request:
    talk = [Message("system", system), Message("user", f"Episode {number}.")]
    for turn in range(turns):
        talk += [Message("assistant", f"turn {turn}"), Message("user", "Go on.")]
    return Request(tuple(talk))


async def asked(model: Any, *requests: Request) -> list[Any]:
    return await asyncio.gather(*(model.chat(request) for request in requests), return_exceptions=True)


def test_a_conversation_stays_with_its_server_and_the_load_is_shared() -> None:
    with FakeServer(latency=0.05) as one, FakeServer(latency=0.05) as two, FakeServer(latency=0.05) as three:
        servers = (one, two, three)

        async def go() -> None:
            model = load(spec(*servers))
            for turns in range(3):
                for reply in await asked(model, *(conversation(number, turns) for number in range(24))):
                    assert reply.text == "ok"
            await chat.aclose(model)

        asyncio.run(go())
        homes: dict[str, set[int]] = collections.defaultdict(set)
        for place, server in enumerate(servers):
            for body in server.chats:
                homes[body["messages"][1]["content"]].add(place)
        counts = [len(server.chats) for server in servers]
        assert sum(counts) == 72 and max(counts) <= 3 * 10  # 24 at once: nobody has more than 1.25 of the mean, 10
        assert sum(len(places) == 1 for places in homes.values()) >= 16  # only what the bound moves, moves


def test_one_system_prompt_does_not_bring_all_episodes_to_one_server() -> None:
    addresses = ["a/v1", "b/v1", "c/v1", "d/v1"]
    first = [rendezvous(conversation(number), addresses)[0] for number in range(400)]
    assert min(collections.Counter(first).values()) > 60


@given(st.lists(st.text(max_size=8), min_size=2, max_size=6, unique=True), st.text(max_size=20), st.integers(0, 99))
def test_a_server_that_goes_moves_only_its_own_conversations(addresses: list[str], system: str, number: int) -> None:
    request = conversation(number, system=system)
    order = [addresses[place] for place in rendezvous(request, addresses)]
    assert sorted(order) == sorted(addresses)
    assert rendezvous(conversation(number, 3, system), addresses) == rendezvous(request, addresses)
    for gone in addresses:
        left = [address for address in addresses if address != gone]
        if left:
            assert [left[place] for place in rendezvous(request, left)] == [each for each in order if each != gone]


def test_a_call_whose_connection_dies_is_made_at_another_server_and_the_dead_one_comes_back() -> None:
    with Served("one") as one, Served("two") as two:

        async def go() -> None:
            model = load(spec(one, two))
            requests = [conversation(number) for number in range(20)]
            said = [reply.text for reply in await asked(model, *requests)]
            assert set(said) == {"one", "two"}
            two.kill()
            said = [reply.text for reply in await asked(model, *requests)]  # retries=0: it is the failover
            assert said == ["one"] * 20
            balanced = find_layer(model, Balanced)
            assert balanced is not None and [place.up for place in balanced._places].count(False) == 1
            with Served("two again", two.port):
                for _ in range(200):
                    await asyncio.sleep(0.05)
                    said = [reply.text for reply in await asked(model, *requests)]
                    if "two again" in said:
                        break
                assert set(said) == {"one", "two again"} and all(place.up for place in balanced._places)
            await chat.aclose(model)

        asyncio.run(go())


def test_a_request_that_breaks_in_flight_fails_over_once_and_not_for_ever() -> None:
    with FakeServer(always="drop") as one, FakeServer(always="drop") as two:

        async def go() -> None:
            model = load(spec(one, two))
            [error] = await asked(model, conversation(0))
            assert isinstance(error, ServerUnavailable) and len(one.chats) == len(two.chats) == 1
            await chat.aclose(model)

        asyncio.run(go())


def test_the_servers_own_refusals_do_not_wander() -> None:
    with FakeServer(always="500") as one, FakeServer(always="500") as two:

        async def go() -> None:
            model = load(spec(one, two))
            [error] = await asked(model, conversation(0))
            assert isinstance(error, ServerUnavailable) and len(one.chats) + len(two.chats) == 1
            await chat.aclose(model)

        asyncio.run(go())


def test_a_server_that_fails_three_times_running_is_taken_out() -> None:
    with FakeServer(always="503") as ill, FakeServer() as well:

        async def go() -> None:
            model = load(spec(ill, well))
            mine = [request for request in map(conversation, range(40)) if _first(request, ill, well) == 0]
            for request in mine[:3]:
                await asked(model, request)
            assert len(ill.chats) == 3
            assert [reply.text for reply in await asked(model, mine[3])] == ["ok"] and len(ill.chats) == 3
            await chat.aclose(model)

        asyncio.run(go())


def _first(request: Request, *servers: FakeServer) -> int:
    addresses = [server.base_url.removeprefix("http://") for server in servers]
    ordered = sorted(addresses)
    return addresses.index(ordered[rendezvous(request, ordered)[0]])


def test_a_server_that_hangs_is_taken_out_by_the_time_limit() -> None:
    with FakeServer(always="hang") as hung, FakeServer() as well:

        async def go() -> None:
            model = load(spec(hung, well, timeout=0.2, retries=9, deadline=30))
            mine = [request for request in map(conversation, range(40)) if _first(request, hung, well) == 0]
            assert [reply.text for reply in await asked(model, mine[0])] == ["ok"]
            await chat.aclose(model)

        asyncio.run(go())


def test_a_server_that_answers_probes_alone_gets_one_call_at_a_time_and_ever_more_rarely() -> None:
    with FakeServer(always="hang") as stuck, FakeServer() as well:

        async def go() -> None:
            model = load(spec(stuck, well, timeout=0.2, retries=9, deadline=30))
            balanced = find_layer(model, Balanced)
            assert balanced is not None
            [place] = [place for place in balanced._places if place.server.address in stuck.base_url]
            await asked(model, *map(conversation, range(8)))  # which takes it out
            before, waits, number = len(stuck.chats), [place.wait], 8
            while place.wait < 0.8:  # 0.05, doubled with each call that it does not answer
                for reply in await asked(model, *map(conversation, range(number, number + 8))):
                    assert reply.text == "ok"
                assert place.wait >= waits[-1]
                if place.wait > waits[-1]:
                    waits.append(place.wait)
                number += 8
                await asyncio.sleep(0.02)
            assert len(stuck.chats) - before <= len(waits)
            await chat.aclose(model)

        asyncio.run(go())


def test_one_server_that_is_well_is_enough_where_another_answers_sooner_that_it_is_not() -> None:
    with Served("one") as one, FakeServer(always="500") as two:

        async def go() -> None:
            model = load(spec(one, two))
            balanced = find_layer(model, Balanced)
            assert balanced is not None
            await asked(model, conversation(0))
            for place in balanced._places:
                place.up, place.probe_at = False, 0.0
                sick = place.server.address not in one.base_url
                place.server.served = refused if sick else _late(place.server.served)  # type: ignore[method-assign]
            [reply] = await asked(model, conversation(1))
            assert reply.text == "one"
            await chat.aclose(model)

        asyncio.run(go())


async def refused() -> Any:
    raise ServerUnavailable("scripted")


def _late(call: Callable[[], Any]) -> Callable[[], Any]:
    async def served() -> Any:
        await asyncio.sleep(0.1)
        return await call()

    return served


def test_no_server_at_all_is_an_outage_that_names_them() -> None:
    with FakeServer() as one, FakeServer() as two:
        addresses = spec(one, two)

    async def go() -> None:
        model = load(addresses)
        for _ in range(2):
            [error] = await asked(model, conversation(0))
            assert isinstance(error, ServerUnavailable) and "none of the servers is well: 127.0.0.1" in str(error)
        await chat.aclose(model)

    asyncio.run(go())


def test_different_models_behind_one_list_are_refused_by_the_field() -> None:
    with FakeServer(owned_by="vllm", version="0.31.0") as one, FakeServer(owned_by="vllm", version="0.22.0") as two:

        async def go() -> None:
            model = load(spec(one, two))
            for _ in range(2):
                [error] = await asked(model, conversation(0))
                assert isinstance(error, BadInput) and "version '0." in str(error) and "one model" in str(error)
            assert not one.chats and not two.chats
            await chat.aclose(model)

        asyncio.run(go())


def test_a_server_that_comes_back_as_another_is_left_out_with_a_warning() -> None:
    with Served("one", version="1") as one, Served("two", version="1") as two:

        async def go() -> None:
            model = load(spec(one, two))
            requests = [conversation(number) for number in range(12)]
            await asked(model, *requests)
            two.kill()
            await asked(model, *requests)
            with Served("other", two.port, version="2"), warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                for _ in range(200):
                    await asyncio.sleep(0.05)
                    assert [reply.text for reply in await asked(model, *requests)] == ["one"] * 12
                    if told:
                        break
                assert [item.category for item in told] == [MetaGymWarning]
                assert "version '2'" in str(told[0].message) and "left out" in str(told[0].message)
            await chat.aclose(model)

        asyncio.run(go())


def test_records_do_not_depend_on_which_server_answered() -> None:
    def brain(request: Request) -> str:
        return "Action: " + ("red", "green", "blue")[(request.seed or 0) % 3]

    family = guess_family()
    tasks = list(family.task_set("train"))[:12]
    with FakeServer(brain) as one, FakeServer(brain) as two, FakeServer(brain) as three:
        texts = []
        for servers in ((one,), (one, two), (three, two, one)):
            episodes = play(tasks, spec(*servers), family=family, max_steps=3)
            texts.append([episode.to_json() for episode in episodes])
        assert texts[0] == texts[1] == texts[2] and one.chats and two.chats and three.chats


def test_the_order_of_the_addresses_does_not_matter_and_no_key_is_in_the_id() -> None:
    with FakeServer() as one, FakeServer() as two:
        ids = {load(spec(*pair)).id for pair in ((one, two), (two, one))}
        assert len(ids) == 1 and next(iter(ids)).count("|") == 1


@pytest.mark.parametrize("addresses", ["http://a/v1|", "|http://a/v1", "http://a/v1|http://a/v1/", "http://a/v1|x"])
def test_a_list_with_something_that_is_no_address_is_refused(addresses: str) -> None:
    with pytest.raises(SpecError, match="base_url is"):
        load(f"openai:fake?base_url={addresses}")


def test_a_list_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer() as one, FakeServer() as two:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{one.base_url}|{two.base_url}")

        async def go() -> None:
            model = load("openai:fake")
            await asked(model, *map(conversation, range(12)))
            await chat.aclose(model)

        asyncio.run(go())
        assert one.chats and two.chats


def test_a_run_notes_what_each_server_said_of_itself(tmp_path: Path) -> None:
    from metagym.ict.config import RunConfig
    from metagym.runs.folder import RunFolder
    from metagym.runs.ict import run_ict

    with FakeServer(owned_by="vllm", version="0.31.0") as one, FakeServer(owned_by="vllm", version="0.31.0") as two:
        config = RunConfig(
            actor=spec(one, two), reflector="random", batch_size=2, meta_turns=1, eval_tasks=0, max_steps=2
        )
        asyncio.run(run_ict(config, tmp_path / "run"))
        addresses = sorted(server.base_url.removeprefix("http://") for server in (one, two))
    with RunFolder.open(tmp_path / "run") as folder:
        assert folder.timing is not None
        told = dict(folder.timing.records())["servers/0"]
    assert sorted(told["servers"]) == addresses and told["servers"][addresses[0]]["version"] == "0.31.0"


def test_a_second_event_loop_meets_the_same_servers() -> None:
    with FakeServer() as one, FakeServer() as two:
        model = load(spec(one, two))
        for _ in range(2):
            assert [reply.text for reply in asyncio.run(asked(model, conversation(0)))] == ["ok"]
