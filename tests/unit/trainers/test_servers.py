"""The supervisor of servers, with real processes on loopback: what it starts, it ends, however the run itself ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metagym.errors import BadInput, ServerError, WrongVersion
from metagym_trainers.servers import Launch, Server, Servers, inspect, recorded, vllm

ROOT = Path(__file__).resolve().parents[3]
FAKE = str(ROOT / "tests" / "support" / "fake_vllm.py")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="parent-death signals and /proc are Linux's")


def fake(*arguments: str, name: str = "actor", port: int = 0, **more: Any) -> Launch:
    return Launch(name, (sys.executable, "-S", FAKE, "--port", "{port}", *arguments), port, **more)


def wait_for(found: Callable[[], bool], seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while not found() and time.monotonic() < until:
        time.sleep(0.02)
    return found()


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def told(log: Path, word: str) -> int:
    """The process id that the fake wrote behind a word."""
    assert wait_for(lambda: log.is_file() and f"{word} " in log.read_text())
    return int(next(line.split()[1] for line in log.read_text().splitlines() if line.startswith(word)))


def post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
        return json.loads(answer.read())


def test_a_server_is_started_asked_recorded_and_stopped(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        server = servers.start(fake(model="tiny", training=True))
        servers.check()
        assert server.alive() and server.base_url == f"http://127.0.0.1:{server.port}/v1"
        [described] = servers.describe()
        pid = server.pid
        assert pid is not None and told(server.log, "pid") == pid
    assert not server.alive() and not runs(pid)
    served = described["served"]
    assert (served["models"], served["version"]) == (["tiny"], "0.31.0")
    assert served["config"]["model_config"] == {
        "model": "tiny",
        "logprobs_mode": "processed_logprobs",
        "max_model_len": 64,
    }
    assert served["config"]["weight_transfer"] is True and len(served["config_sha256"]) == 64
    assert json.loads(json.dumps(described)) == described  # it goes into manifests
    server.stop()  # a second stop does nothing


def test_two_servers_get_ports_of_their_own_and_one_name_is_one_server(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        first, second = servers.start(fake()), servers.start(fake(name="opponent"))
        assert first.port != second.port
        with pytest.raises(BadInput, match="actor already"):
            servers.start(fake())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--mode", "raw_logprobs"), "--logprobs-mode processed_logprobs"),
        (("--no-dev",), "VLLM_SERVER_DEV_MODE=1"),
        (("--no-weights",), "--weight-transfer-config"),
        (("--model", "other"), "serves other, not tiny"),
    ],
)
def test_trl_issue_08_a_policy_in_training_is_served_as_it_must_be_or_refused(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    with Servers(tmp_path) as servers:
        with pytest.raises(ServerError, match=words):
            servers.start(fake(*arguments, model="tiny", training=True))
        assert servers.describe() == []
        if "raw_logprobs" in arguments:  # a frozen actor may
            servers.start(fake(*arguments, model="tiny", name="frozen"))
    assert wait_for(lambda: not runs(told(tmp_path / "actor.log", "pid")))


def test_a_taken_port_is_named_before_anything_is_started(tmp_path: Path) -> None:
    with socket.socket() as other, Servers(tmp_path) as servers:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ServerError, match=f"port {port} for actor is taken .*0 for a free one"):
            servers.start(fake(port=port))
        assert not (tmp_path / "actor.log").exists()


def test_a_missing_command_is_one_sentence_with_the_way_out(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        with pytest.raises(ServerError, match=r"actor cannot be started: no-such-vllm: .*No such file.*pip install"):
            servers.start(Launch("actor", ("no-such-vllm", "serve")), deadline=30)


def test_a_server_that_dies_at_start_shows_its_last_lines_and_its_command(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        with pytest.raises(ServerError) as caught:
            servers.start(fake("--die-at-start", "3"), deadline=30)
    words = str(caught.value)
    assert "actor died while starting (exit code 3)" in words and "CUDA out of memory" in words
    assert f"{FAKE} --port" in words and "by hand" in words


def test_a_server_that_never_serves_is_given_up_at_the_deadline(tmp_path: Path) -> None:
    with Servers(tmp_path, grace=0.5) as servers:
        with pytest.raises(ServerError, match=r"did not answer .*/health within 1 s: allow it more time"):
            servers.start(fake("--silent"), deadline=1)
    assert not runs(told(tmp_path / "actor.log", "pid"))


def test_a_death_in_the_middle_is_noticed_with_the_next_step(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        server = servers.start(fake())
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        assert wait_for(lambda: not server.alive())
        with pytest.raises(ServerError, match=r"actor at http.* has died \(signal 9\).*restart the run from its last"):
            servers.check()


@LINUX
def test_a_stubborn_server_and_its_child_in_another_session_are_ended_too(tmp_path: Path) -> None:
    with Servers(tmp_path, grace=0.3) as servers:
        server = servers.start(fake("--stubborn", "--child"))
        pids = [told(server.log, "pid"), told(server.log, "child")]
        assert all(runs(pid) for pid in pids)
    assert not any(runs(pid) for pid in pids)


@LINUX
def test_what_a_dead_server_leaves_behind_is_ended(tmp_path: Path) -> None:
    with Servers(tmp_path, grace=0.3) as servers:
        server = servers.start(fake("--child"))
        child = told(server.log, "child")
        os.kill(told(server.log, "pid"), signal.SIGKILL)
        assert wait_for(lambda: not runs(child))


_RUN = """
import os, sys, time
from metagym_trainers.servers import Launch, Servers
with Servers(sys.argv[1], grace=0.5) as servers:
    servers.start(Launch("actor", (sys.executable, "-S", sys.argv[2], "--port", "{port}", "--child", "--stubborn")))
    print("ready", flush=True)
    time.sleep(600)
"""


@LINUX
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_is_left_when_the_run_itself_is_killed(number: signal.Signals, tmp_path: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", _RUN, str(tmp_path), FAKE], stdout=subprocess.PIPE, text=True)
    try:
        assert run.stdout is not None and run.stdout.readline() == "ready\n"
        pids = [told(tmp_path / "actor.log", "pid"), told(tmp_path / "actor.log", "child")]
        assert all(runs(pid) for pid in pids)
        run.send_signal(number)
        run.wait(10)
        assert wait_for(lambda: not any(runs(pid) for pid in pids))
    finally:
        run.kill()
        run.wait()
        if run.stdout is not None:
            run.stdout.close()


@LINUX
def test_a_killed_keeper_takes_its_server_along(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        server = servers.start(fake())
        pid = told(server.log, "pid")
        os.kill(int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)
        assert wait_for(lambda: not runs(pid))
        with pytest.raises(ServerError, match="its keeper was killed"):
            servers.check()


@pytest.mark.parametrize("version", ["0.21.2", "0.33.0"])
def test_trl_issue_10_a_vllm_that_trl_cannot_drive_is_refused_at_start(version: str, tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        with pytest.raises(WrongVersion, match=rf"runs vLLM {version}, and TRL 1.16 drives >=0.22"):
            servers.start(fake("--version", version, training=True))
        servers.start(fake("--version", version, name="frozen"))  # a frozen actor may be any


def test_trl_issue_09_the_policy_is_sampled_over_the_same_http_that_takes_its_new_weights(tmp_path: Path) -> None:
    pytest.importorskip("httpx2")
    from metagym import chat
    from metagym_trainers import HTTPPolicy

    async def say(server: Server) -> str | None:
        model = chat.load(server.spec())
        try:
            return (await model.chat(chat.Request((chat.Message("user", "hi"),)))).text
        finally:
            await chat.aclose(model)

    async def sample(server: Server) -> tuple[Any, Any]:
        policy = HTTPPolicy(server.base_url, "tiny")
        try:
            found = await policy.sample([1, 2], max_tokens=4, seed=0)
            return found.ids, found.logprobs
        finally:
            await policy.aclose()

    with Servers(tmp_path) as servers:
        server = servers.start(fake(model="tiny", training=True))
        assert "sampling=full" in server.spec()
        assert asyncio.run(say(server)) == "v0"
        post(f"{server.url}/update_weights", {})  # the end that TRL's VLLMClient calls after each step
        assert asyncio.run(say(server)) == "v1"
        assert asyncio.run(sample(server)) == ((1,), (-0.5,))
        post(f"{server.url}/update_weights", {})
        assert asyncio.run(sample(server)) == ((2,), (-0.5,))


def test_a_server_of_somebody_else_is_asked_the_same_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with Servers(tmp_path) as servers:
        server = servers.start(fake())
        assert inspect(server.base_url, model="tiny", training=True)["version"] == "0.31.0"
        assert recorded(server.spec("tiny")) == inspect(server.url)
        assert recorded("rules") is None and recorded("openai:gpt-x") is None and recorded(object()) is None
        with pytest.raises(ServerError, match="serves tiny, not large"):
            inspect(server.url, model="large")
    with pytest.raises(ServerError, match="the actor at http.* does not answer: start it"):
        inspect(server.url, "the actor")


def test_vllm_is_started_with_the_flags_that_training_and_recording_need() -> None:
    frozen = vllm("actor", "Qwen/Qwen2.5-7B-Instruct", max_model_len=4096, gpus="0", invariant=True)
    line = frozen.shown(8000)
    assert line.startswith("VLLM_SERVER_DEV_MODE=1 CUDA_VISIBLE_DEVICES=0 VLLM_BATCH_INVARIANT=1 vllm serve Qwen/")
    for words in (
        "--port 8000",
        "--generation-config vllm",
        "--logprobs-mode processed_logprobs",
        "--max-model-len 4096",
    ):
        assert words in line
    assert "--weight-transfer-config" not in line and "--tensor-parallel-size" not in line
    trained = vllm("policy", "m", training=True, tensor_parallel=4, port=8001).shown()
    assert """--weight-transfer-config '{"backend": "nccl"}'""" in trained and "--tensor-parallel-size 4" in trained
    assert "--port 8001" in trained and "--max-logprobs -1" in trained


def test_trls_own_command_asks_for_nothing_that_ours_lacks() -> None:
    pytest.importorskip("trl")
    from trl.scripts.vllm_serve import ScriptArguments, build_command

    theirs = build_command(ScriptArguments(model="m", port=8001))
    ours = vllm("policy", "m", training=True, port=8001).command
    imposed = theirs[theirs.index("--weight-transfer-config") :]
    pairs = dict(zip(ours, ours[1:], strict=False))
    for flag, value in zip(imposed[::2], imposed[1::2], strict=True):
        assert json.loads(pairs[flag]) == json.loads(value) if value.startswith("{") else pairs[flag] == value


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Launch("x", ()),
        lambda: Launch("x", "vllm serve"),  # type: ignore[arg-type]
        lambda: Launch("x", ("a",), port=70_000),
        lambda: vllm("x", "m", memory=0),
        lambda: vllm("x", "m", tensor_parallel=0),
        lambda: Servers(grace=-1),
    ],
)
def test_unusable_settings_are_refused(wrong: Callable[[], Any]) -> None:
    with pytest.raises(BadInput):
        wrong()


def test_training_ends_when_a_server_has_died(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    from metagym_trainers.servers.watch import WatchServers

    with Servers(tmp_path) as servers:
        watch, server = WatchServers(servers), servers.start(fake())
        watch.on_step_begin(None, None, None)
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        assert wait_for(lambda: not server.alive())
        with pytest.raises(ServerError, match="has died"):
            watch.on_step_begin(None, None, None)


def test_training_ends_when_a_server_of_somebody_else_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trl")
    from metagym_trainers.servers import watch
    from metagym_trainers.servers.watch import Addresses, WatchServers

    monkeypatch.setattr(watch, "PAUSE_S", 0.01)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with Servers(tmp_path) as servers:
        server = servers.start(fake())
        known = Addresses({"the actor": server.spec("m"), "a judge": None, "one": "openai:m", "hosted": "https://h/v1"})
        assert known.urls == {"the actor": server.url}
        looking = WatchServers(known, servers)
        looking.on_step_begin(None, None, None)
    with pytest.raises(ServerError, match=f"the actor at {server.url} no longer answers: start it again and resume"):
        looking.on_step_begin(None, None, None)
    monkeypatch.setattr(watch, "get", lambda address: (503, None))  # vLLM's page when its engine is dead
    with pytest.raises(ServerError, match="answers with status 503"):
        Addresses({"the actor": server.url}).check()
    monkeypatch.setattr(watch, "get", lambda address: (404, None))  # a server without the page
    Addresses({"the actor": server.url}).check()
