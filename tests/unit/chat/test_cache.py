from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.chat import ChatModel, Message, Reply, Request, Usage, scripted
from metagym.chat import store as store_module
from metagym.chat.accounts import Ledger
from metagym.chat.cache import Cached
from metagym.chat.codec import cache_key, reply_from_text, reply_to_text
from metagym.chat.store import ReplyStore
from metagym.errors import BadInput, CacheMiss, ChatError, ServerUnavailable, StoreCorrupt, StoreError, StoreLocked


class Source:
    """Gives a new reply to every call, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, request: Request) -> Reply:
        self.calls += 1
        number = self.calls
        await asyncio.sleep(0.001)
        return Reply(f"reply {number}", usage=Usage(1, 5, 2, cost=0.1), attempts=2, seconds=1.5, reasoning="hm")


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def cached(tmp_path: Path, source: Source) -> Callable[..., Cached]:
    def make(mode: Any = "write", **more: Any) -> Cached:
        return Cached(scripted(source, id="source"), ReplyStore(tmp_path / "c.sqlite", mode), **more)

    return make


def gather(model: ChatModel, *requests: Request) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        return await asyncio.gather(*(model.chat(request) for request in requests))

    return asyncio.run(all_of_them())


def test_a_hit_is_an_equal_reply_for_nothing(cached, source, ask):
    first = gather(cached(), ask())[0]
    ledger = Ledger()
    again = gather(cached(ledger=ledger, seat="actor"), ask(tag="other"))[0]
    assert source.calls == 1
    assert again == dataclasses.replace(first, cached=True, attempts=0)
    total = ledger.totals()
    assert total["seats"]["other"]["cached"] == 1
    assert total["total"]["usage"] == Usage().to_json()


def test_s21_cache_keeps_samples_apart(cached, source, ask):
    requests = [ask(temperature=1.0, sample=sample) for sample in range(4)]
    first = gather(cached(), *requests)
    assert len({reply.text for reply in first}) == 4 and source.calls == 4
    again = gather(cached(), *requests)
    assert [reply.text for reply in again] == [reply.text for reply in first] and source.calls == 4
    other_seeds = gather(cached(), *(dataclasses.replace(request, seed=1) for request in requests))
    assert source.calls == 8
    assert not {reply.text for reply in other_seeds} & {reply.text for reply in first}


def test_equal_requests_on_their_way_are_paid_once(cached, source, ask):
    ledger = Ledger()
    replies = gather(cached(ledger=ledger), *[ask()] * 8)
    assert source.calls == 1
    assert {reply.text for reply in replies} == {"reply 1"}
    assert sum(not reply.cached for reply in replies) == 1
    assert ledger.totals()["total"]["cached"] == 7


def test_a_cancelled_asker_does_not_take_the_others_down(cached, source, ask):
    model = cached()

    async def work() -> Reply:
        asker = asyncio.create_task(model.chat(ask()))
        waiter = asyncio.create_task(model.chat(ask()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asker.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asker
        return await waiter

    assert asyncio.run(work()).text == "reply 2"
    assert source.calls == 2


def test_errors_and_unusable_bodies_are_never_kept(tmp_path, ask):
    outcomes: list[Any] = [ServerUnavailable("500"), Reply(None, absence="error", cause="html"), "fine"]

    def answer(request: Request) -> Any:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    model = Cached(scripted(answer), ReplyStore(tmp_path / "c.sqlite"))
    with pytest.raises(ServerUnavailable):
        gather(model, ask())
    assert gather(model, ask())[0].absence == "error"
    assert gather(model, ask())[0].text == "fine"
    assert len(model.store) == 1


def test_a_shared_failure_reaches_all_that_waited(tmp_path, ask):
    calls = []

    async def answer(request: Request) -> str:
        calls.append(1)
        await asyncio.sleep(0.001)
        raise ServerUnavailable("500")

    model = Cached(scripted(answer), ReplyStore(tmp_path / "c.sqlite"))

    async def work() -> list[Any]:
        return await asyncio.gather(*(model.chat(ask()) for _ in range(3)), return_exceptions=True)

    assert [type(outcome) for outcome in asyncio.run(work())] == [ServerUnavailable] * 3
    assert len(calls) == 1


def test_typed_absences_were_paid_and_are_kept(tmp_path, ask):
    replies = [Reply(None, absence="length", usage=Usage(1, 5, 9), cause="cut")]
    model = Cached(scripted(lambda request: replies.pop()), ReplyStore(tmp_path / "c.sqlite"))
    first, again = gather(model, ask())[0], gather(model, ask())[0]
    assert again == dataclasses.replace(first, cached=True, attempts=0)


def test_modes(cached, source, ask, tmp_path):
    gather(cached("write"), ask("known"))
    before = (tmp_path / "c.sqlite").read_bytes()
    assert gather(cached("read"), ask("known"), ask("new"))[1].text == "reply 2"
    assert gather(cached("read"), ask("new"))[0].text == "reply 3"
    assert gather(cached("replay-only"), ask("known"))[0].text == "reply 1"
    with pytest.raises(CacheMiss, match=r"c\.sqlite holds no reply of source .*'new'"):
        gather(cached("replay-only"), ask("new"))
    assert (source.calls, (tmp_path / "c.sqlite").read_bytes()) == (3, before)
    with pytest.raises(BadInput, match="replay-only"):
        cached("replay")


def test_a_replay_needs_a_recording(tmp_path):
    for mode in ("read", "replay-only"):
        with pytest.raises(StoreError, match=r"none\.sqlite does not exist"):
            ReplyStore(tmp_path / "none.sqlite", mode)  # type: ignore[arg-type]
    assert not (tmp_path / "none.sqlite").exists()


# --- the file


def test_the_file_is_made_with_its_folder_under_any_name(tmp_path, ask):
    path = tmp_path / "résultats 鍵?#%" / "run 1" / "c.sqlite"
    model = Cached(scripted(lambda request: "🗝️ ключ 鍵 ≥"), ReplyStore(path))
    gather(model, ask("🗝️"))
    assert path.is_file()
    assert gather(model, ask("🗝️"))[0] == dataclasses.replace(gather(model, ask("🗝️"))[0])


@pytest.mark.parametrize("content", [b"not a database, only text" * 100, b"SQLite format 3\x00" + b"\xff" * 4096])
@pytest.mark.parametrize("mode", ["write", "read", "replay-only"])
def test_a_corrupt_file_is_named_and_left_alone(tmp_path, content, mode):
    path = tmp_path / "broken.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"broken\.sqlite"):
        ReplyStore(path, mode)
    assert path.read_bytes() == content


def test_damage_in_the_middle_is_found(tmp_path, ask):
    path = tmp_path / "c.sqlite"
    store = ReplyStore(path)
    for number in range(300):
        store.put(f"{number:064d}", Reply("x" * 200))
    store.close()
    raw = bytearray(path.read_bytes())
    raw[4096:] = b"\xee" * (len(raw) - 4096)
    path.write_bytes(raw)
    with pytest.raises(StoreCorrupt, match=r"c\.sqlite"):
        store = ReplyStore(path)
        for number in range(300):
            store.get(f"{number:064d}")


def test_a_foreign_database_is_refused(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE accounts (name TEXT)")
    connection.close()
    before = path.read_bytes()
    for mode in ("write", "replay-only"):
        with pytest.raises(StoreError, match="no reply cache"):
            ReplyStore(path, mode)  # type: ignore[arg-type]
    assert path.read_bytes() == before


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(StoreError, match="is a folder"):
        ReplyStore(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        ReplyStore(tmp_path / "file" / "c.sqlite")


def test_a_recording_in_a_read_only_folder_can_be_played(tmp_path, ask):
    folder = tmp_path / "recording"
    model = Cached(scripted(lambda request: "kept"), ReplyStore(folder / "c.sqlite"))
    gather(model, ask())
    model.store.close()
    (folder / "c.sqlite").chmod(stat.S_IRUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        store = ReplyStore(folder / "c.sqlite", "replay-only")
        assert gather(Cached(scripted(lambda request: "new", id=model.id), store), ask())[0].text == "kept"
        if os.geteuid() != 0:  # the superuser may write anywhere
            with pytest.raises(StoreError, match=r"c\.sqlite"):
                ReplyStore(folder / "c.sqlite").put("k", Reply("x"))
    finally:
        folder.chmod(stat.S_IRWXU)


def test_a_full_disk_is_named_and_the_kept_replies_stay(tmp_path):
    path = tmp_path / "c.sqlite"
    store = ReplyStore(path)
    store.put("a", Reply("kept"))
    assert store._connection is not None
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match=r"c\.sqlite cannot grow: .*full"):
        store.put("b", Reply("x" * 100_000))
    store.close()
    reopened = ReplyStore(path)
    kept = reopened.get("a")
    assert kept is not None and kept.text == "kept"
    assert reopened.get("b") is None


def test_a_file_locked_for_too_long_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "LOCK_SECONDS", 0.1)
    path = tmp_path / "c.sqlite"
    store = ReplyStore(path)
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreLocked, match=r"c\.sqlite is locked"):
        store.put("a", Reply("x"))
    other.rollback()
    other.close()
    store.put("a", Reply("x"))
    assert store.get("a") is not None


@pytest.mark.parametrize(
    "old", ['{"text": "old"}', "[1]", "not json", '{"usage": {}, "text": 3}', '{"usage": {"x": 1}}']
)
def test_an_entry_of_another_format_is_a_miss_and_replaced(cached, source, ask, old):
    model = cached()
    key = cache_key(model.id, ask())
    connection = sqlite3.connect(model.store.path)
    with connection:
        connection.execute("INSERT INTO replies VALUES (?, ?)", (key, old))
    connection.close()
    assert gather(model, ask())[0].text == "reply 1"
    assert gather(model, ask())[0].cached


_WORKER = """
    import asyncio, os, signal, sys
    from metagym.chat import Message, Reply, Request, Usage, scripted
    from metagym.chat.cache import Cached
    from metagym.chat.store import ReplyStore

    path, name, number, kill = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "kill"
    model = Cached(scripted(lambda request: f"reply of {name}", id="m"), ReplyStore(path))

    async def main():
        for at in range(number):
            reply = await model.chat(Request((Message("user", f"question {at}"),)))
            print(at, reply.text, flush=True)
        if kill:
            os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(main())
"""


def worker(path: Path, name: str, number: int, kill: bool = False) -> subprocess.Popen[str]:
    code = textwrap.dedent(_WORKER)
    arguments = [sys.executable, "-W", "ignore", "-c", code, str(path), name, str(number), "kill" if kill else "live"]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_kill_9_right_after_a_reply_loses_nothing(tmp_path):
    path = tmp_path / "c.sqlite"
    process = worker(path, "a", 25, kill=True)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err
    assert len(out.splitlines()) == 25
    store = ReplyStore(path, "replay-only")
    assert len(store) == 25
    for at in range(25):
        reply = store.get(cache_key("m", Request((Message("user", f"question {at}"),))))
        assert reply is not None and reply.text == "reply of a"


def test_two_processes_share_a_file(tmp_path):
    path = tmp_path / "c.sqlite"
    processes = [worker(path, name, 60) for name in ("a", "b")]
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, len(out.splitlines())) == (0, 60), err
    assert len(ReplyStore(path, "read")) == 60


def test_a_fork_opens_its_own_connection(tmp_path):
    path = tmp_path / "c.sqlite"
    store = ReplyStore(path)
    first = store._connection
    store._owner = -1  # what a forked child sees: the connection belongs to another process
    store.put("a", Reply("x"))
    assert store._connection is not first
    assert first is not None
    first.close()


def test_no_secret_reaches_the_file(tmp_path, ask):
    # A model's id never holds a key (see the tests of the client); requests are kept as digests only.
    path = tmp_path / "c.sqlite"
    model = Cached(scripted(lambda request: "fine", id="m"), ReplyStore(path))
    gather(model, ask("the key is sk-proj-abcDEF123456789xyz"))
    for file in tmp_path.iterdir():
        assert b"sk-proj" not in file.read_bytes()


# --- keys and records


texts = st.text(max_size=12)
requests = st.builds(
    Request,
    messages=st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts), max_size=3).map(
        tuple
    ),
    temperature=st.sampled_from([0.0, 0, 0.5, 1, 1.0]),
    max_tokens=st.integers(1, 3),
    stop=st.lists(texts, max_size=2).map(tuple),
    seed=st.sampled_from([None, 0, 1]),
    sample=st.integers(0, 2),
    choices=st.none() | st.lists(texts, max_size=2).map(tuple),
    json_schema=st.none() | st.just({"type": "object", "a": 1}) | st.just({"a": 1, "type": "object"}),
    extra=st.dictionaries(texts, st.integers(0, 2), max_size=2),
    tag=texts,
)


@settings(max_examples=200, deadline=None)
@given(requests, requests)
def test_keys_differ_exactly_where_requests_do(one, other):
    same = dataclasses.replace(one, tag="") == dataclasses.replace(other, tag="")
    assert (cache_key("m", one) == cache_key("m", other)) == same
    assert cache_key("m", one) != cache_key("n", one)
    assert re.fullmatch(r"[0-9a-f]{64}", cache_key("m", one))


def test_a_key_is_the_same_in_every_version():
    request = Request(
        (Message("user", "hello \ud800 鍵"),), seed=0, choices=("a", "b"), extra={"z": 1, "a": [None, 0.5]}
    )
    assert (
        cache_key("openai:m?base_url=host/v1", request)
        == "5b0ed1fc2aec58231e7c6a0b835ae4f83de4647a148cfad33e456dbcea440106"
    )


def test_requests_that_are_no_json_are_refused(ask):
    with pytest.raises(BadInput, match="not JSON"):
        cache_key("m", ask(extra={"x": object()}))
    with pytest.raises(BadInput, match="not JSON"):
        cache_key("m", ask(temperature=float("nan")))


replies = st.builds(
    Reply,
    text=texts,
    cut=st.booleans(),
    reasoning=texts,
    usage=st.builds(
        Usage, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), cost=st.floats(0, 9), estimated=st.booleans()
    ),
    model=texts,
    backend=st.sampled_from(["scripted", "local", "server"]),
    constraint=st.sampled_from(["none", "enforced", "checked", "ignored"]),
    seconds=st.floats(0, 1e6),
    cause=texts,
)


@settings(max_examples=100, deadline=None)
@given(replies)
def test_a_kept_reply_is_read_back_equal(reply):
    text = reply_to_text(reply)
    json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert reply_from_text(text) == dataclasses.replace(reply, cached=True, attempts=0)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_no_text_crashes_the_reader_of_replies(text):
    assert reply_from_text(text) is None


def test_the_store_is_closed_with_the_model(tmp_path, ask):
    from metagym.chat import aclose

    model = Cached(scripted(lambda request: "x"), ReplyStore(tmp_path / "c.sqlite"))
    gather(model, ask())
    asyncio.run(aclose(model))
    assert model.store._connection is None
    shutil.copy(tmp_path / "c.sqlite", tmp_path / "copy.sqlite")  # closed, the one file is the whole recording
    assert len(ReplyStore(tmp_path / "copy.sqlite", "replay-only")) == 1


def test_failures_of_the_store_are_no_chat_errors():
    # An episode may survive a model's failure; a run must not go on without its cache.
    assert not issubclass(StoreError, ChatError)
