"""Field faults end to end: what other projects were reported, tried on whole runs of ours.

Each test carries the code of the public report that it goes back to. Those that concern one room alone stand with
that room's tests.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import registry

import metagym
from metagym.chat import Request
from metagym.episodes import Episode, Status, mean_return
from metagym.errors import BrokenExtra, MissingExtra, NoTasks
from metagym.extras import require
from metagym.families import add_factory, drop_factory
from metagym.ict.config import RunConfig
from metagym.playing.actor import ActorSettings
from metagym.runs.folder import RECORDS, RunFolder
from metagym.runs.ict import run_ict
from metagym.runs.notices import notices
from metagym.runs.report import write_report
from metagym.runs.results import Results, load_results
from metagym.strictjson import strict_json
from metagym.tasks import TaskSet
from tests.support.fake_server import FakeServer
from tests.support.ids import skip_without_extra, with_marks
from tests.support.ids import small as small_options
from tests.support.worlds import ListEnv, family_of

OURS = sorted(id_ for id_ in registry if id_.startswith("MetaGym/"))


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own settings stay out of the tests."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ALFWORLD_DATA", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def family() -> Iterator[Any]:
    """Registers a family of one's own for a test."""
    names: list[str] = []

    def make(built: metagym.Family) -> str:
        add_factory(built.name, lambda: built)
        names.append(built.name)
        return built.name

    yield make
    for name in names:
        drop_factory(name)


def run(config: RunConfig, folder: Path, **more: Any) -> Results:
    asyncio.run(run_ict(config, folder, **more))
    return load_results(folder)


def small(**changes: Any) -> RunConfig:
    return RunConfig(**{"batch_size": 2, "meta_turns": 1, "eval_tasks": 4, "reflector": "random", **changes})


def fixed(*steps: tuple[str, float, bool, bool, dict[str, Any]], name: str = "Fixed") -> metagym.Family:
    return family_of(lambda task: ListEnv("START", steps), name, max_steps=9)


def test_s01_every_step_is_real_and_every_request_belongs_to_one(family: Any, tmp_path: Path) -> None:
    steps = [("a", 1.0, False, False, {}), ("b", 1.0, False, False, {}), ("c", 1.0, True, False, {})]
    opened: list[ListEnv] = []

    def open_task(task: metagym.Task) -> ListEnv:
        opened.append(ListEnv("START", steps))
        return opened[-1]

    name = family(family_of(open_task, "Three"))
    with FakeServer(lambda request: "Action: x") as server:
        results = run(small(family=name, actor=server.spec(), eval_tasks=0), tmp_path, concurrency=2)
    assert [(item.episode.steps, item.episode.ret) for item in results.played] == [(3, 3.0)] * 4
    assert sum(len(env.actions) for env in opened) == 12 == len(server.chats)


def test_s03_records_keep_both_flags_apart_from_success(family: Any, tmp_path: Path) -> None:
    ended = ("over", 0.0, True, False, {"success": False})
    cut = ("cut", 0.0, False, True, {"success": False})
    step = ("on", 0.0, False, False, {})
    kinds = {"a": [step, ended], "b": [step, cut]}
    name = family(family_of(lambda task: ListEnv("START", kinds[task.type]), "Ends"))
    results = run(small(family=name, actor="random", batch_size=4), tmp_path)
    assert {item.episode.task.type for item in results.played} == {"a", "b"} and results.ended
    for key, record in RunFolder.open(tmp_path).records.records():
        if "/batch/" in key or "/eval/" in key:
            last = record["episode"]["turns"][-1]
            by_rule = record["episode"]["task"]["type"] == "a"
            assert (last["terminated"], last["truncated"]) == (by_rule, not by_rule)
            assert record["episode"]["success"] is False and len(record["episode"]["turns"]) == 2


def test_s04_a_seed_that_is_not_honoured_is_recorded_and_said(family: Any, tmp_path: Path) -> None:
    name = family(fixed(("x", 0.0, True, False, {"success": False, "seed_honoured": False}), name="Unseeded"))
    results = run(small(family=name, actor="random"), tmp_path)
    assert all(item.episode.info == {"seed_honoured": False} for item in results.played)
    assert any("did not honour its seed in 12 episodes" in notice for notice in notices(results))


def test_neither_play_nor_a_closed_environment_leaves_a_connection_open() -> None:
    with FakeServer(lambda request: "Action: look") as server:
        env = gymnasium.make("MetaGym/ICT-ALFWorld-v0", actor=server.spec(), batch_size=2, max_steps=2)
        env.reset(seed=0)
        env.close()
        metagym.play([env.unwrapped.tasks[0]], server.spec(), max_steps=2)
        gc.collect()  # an open socket would warn here, and warnings are errors


@pytest.mark.parametrize("id_", map(with_marks, OURS))
def test_s05_seed_zero_gives_equal_first_observations_on_every_id(id_: str) -> None:
    skip_without_extra(id_)
    arguments = {"batch_size": 2, "max_steps": 3} if "ICT-" in id_ else {}
    arguments |= small_options(id_)
    seen = []
    for seed in (0, 0, 1):
        env = gymnasium.make(id_, **arguments)
        seen.append(env.reset(seed=seed))
        env.close()
    # Where every game begins alike (a walker at the start of its cliff) the task tells them apart.
    first, again, other = ((observation, str(info.get("task"))) for observation, info in seen)
    assert first == again != other


def test_s05_temperature_zero_and_seed_zero_reach_server_and_manifest(tmp_path: Path) -> None:
    with FakeServer(lambda request: "IMPROVED PROMPT:\nAction: look") as server:
        spec = server.spec()
        run(small(actor=spec, reflector=spec, seed=0, seat=ActorSettings(temperature=0.0), max_steps=2), tmp_path)
    assert server.chats and all(body["temperature"] == 0 and "seed" in body for body in server.chats)
    config = strict_json((tmp_path / "manifest.json").read_bytes())["config"]
    assert config["seed"] == 0 and config["seat"]["temperature"] == 0
    assert config["reflector_seat"]["temperature"] == 0


def test_s09_an_empty_task_set_of_any_family_is_refused(tmp_path: Path, family: Any) -> None:
    empty = dataclasses.replace(fixed(name="Empty"), tasks=lambda split: TaskSet((), f"Empty/{split}"))
    name = family(empty)
    with pytest.raises(NoTasks, match="Empty/.* holds no task"):
        asyncio.run(run_ict(small(family=name, actor="random"), tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_s15_unscored_episodes_move_no_mean_and_are_counted(family: Any, tmp_path: Path) -> None:
    def open_task(task: metagym.Task) -> ListEnv:
        if task.seed % 4 == 0:
            raise RuntimeError("cannot be judged")
        return ListEnv("START", [("x", float(task.seed % 4 == 1), True, False, {"success": task.seed % 4 == 1})])

    name = family(family_of(open_task, "Judged", count=8))
    config = small(family=name, actor="random", batch_size=8, meta_turns=0, eval_tasks=0)
    results = run(config, tmp_path)
    point = results.curve().points[0]
    assert (point.success.value, point.success.n, point.success.unscored) == (pytest.approx(2 / 6), 6, 2)
    assert any(notice.startswith("Unscored: 2 of 8 episodes") for notice in notices(results))


def test_s17_answers_cut_inside_their_thinking_are_counted_in_the_report(tmp_path: Path) -> None:
    faults = [None, None, "reasoning-length"]
    with FakeServer(lambda request: "Action: look", faults=faults) as server:
        config = small(actor=server.spec(concurrency=1), eval_tasks=0, meta_turns=0, max_steps=3)
        results = run(config, tmp_path)
    turns = [turn for item in results.played for turn in item.episode.turns]
    cut = [turn for turn in turns if turn.absence == "length"]
    assert len(turns) == 6 and len(cut) == 1 and cut[0].action == "" and cut[0].reply is None
    assert not any("north maybe" in str(body) for body in server.chats)  # thinking is never fed back
    assert results.usage["actor"].calls == 6
    assert "Answers cut by length: 1." in notices(results)
    assert "Answers cut by length: 1." in write_report(tmp_path).read_text("utf-8")


def test_s20_a_conversation_past_the_window_truncates_the_attempt_and_keeps_its_rewards(family: Any) -> None:
    long = "word " * 480  # 600 tokens a turn
    steps = [(long, 0.5, False, False, {})] * 5
    built = family_of(lambda task: ListEnv("START", steps), "Talkative", max_steps=5)
    with FakeServer(lambda request: "Action: go", window=1000) as server:
        spec = server.spec(context=1000, max_tokens=50)
        [episode] = metagym.play([built.tasks("train")[0]], spec, family=built)
    assert episode.status is Status.TRUNCATED and episode.cause.startswith("context")
    assert episode.scored and episode.ret == 1.0 and episode.steps == 2  # the third request was never sent
    assert all(body["max_tokens"] > 0 for body in server.chats) and len(server.chats) == 2
    with FakeServer(always="401") as refusing:
        with pytest.raises(metagym.errors.TooManyFailures, match="401"):
            metagym.play([built.tasks("train")[0]], refusing.spec(), family=built)


def test_s21_parallel_attempts_with_a_cache_stay_apart_and_are_replayed_in_place(tmp_path: Path) -> None:
    built = fixed(("x", 0.0, True, False, {}))
    tasks = [built.tasks("train")[0]] + [dataclasses.replace(built.tasks("train")[0], seed=n) for n in (1, 2, 3)]
    answers = iter("abcdefgh")

    async def played(model: metagym.chat.ChatModel, seed: int) -> list[str]:
        seat = ActorSettings(temperature=1.0)
        episodes = await metagym.play_async(tasks, model, family=built, seed=seed, seat=seat)
        await metagym.chat.aclose(model)
        return [episode.turns[0].action for episode in episodes]

    with FakeServer(lambda request: f"Action: {next(answers)}") as server:

        def attempt(seed: int = 0) -> list[str]:
            model = metagym.chat.load(server.spec(), cache=tmp_path / "replies.sqlite")
            return asyncio.run(played(model, seed))

        first = attempt()
        assert sorted(first) == list("abcd") and len(server.chats) == 4
        assert attempt() == first and len(server.chats) == 4  # the same four, each in its place
        assert sorted(attempt(seed=1)) == list("efgh") and len(server.chats) == 8


def test_s22_retries_are_counted_in_the_report(tmp_path: Path) -> None:
    faults = ["429", None, "503", "429", None]
    with FakeServer(lambda request: "Action: look", faults=faults) as server:
        config = small(actor=server.spec(concurrency=1), eval_tasks=0, meta_turns=0, max_steps=1)
        results = run(config, tmp_path)
    assert len(server.chats) == 5 and results.usage["actor"].calls == 2
    assert results.retries == 3
    assert any(notice.startswith("Retries: 3 requests") for notice in notices(results))
    assert "Retries: 3 requests" in write_report(tmp_path).read_text("utf-8")


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        (None, MissingExtra, "pip install 'metagym-agents[alfworld]'"),
        ("import foo_that_is_missing", BrokenExtra, "No module named 'foo_that_is_missing'"),
        ("raise OSError('libgame.so.1: cannot open shared object file')", BrokenExtra, "libgame.so.1"),
        ("raise SystemError('half a module')", BrokenExtra, "half a module"),
    ],
)
def test_s32_an_optional_package_is_missing_or_broken_and_never_taken_for_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, error: type[ImportError], said: str
) -> None:
    if source is not None:
        (tmp_path / "fake_engine.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(error) as caught:
        require("fake_engine", "alfworld")
    assert said in str(caught.value)
    assert ("pip install" in str(caught.value)) == (source is None)


def test_s32_the_base_import_needs_no_extra() -> None:
    code = (
        "import sys\n"
        "for name in ('textworld', 'alfworld', 'httpx2', 'xllamacpp', 'torch', 'transformers', 'cloudpickle'):\n"
        "    sys.modules[name] = None\n"
        "import gymnasium, metagym\n"
        "env = gymnasium.make('MetaGym/ICT-ALFWorld-v0', batch_size=1, max_steps=3)\n"
        "env.reset(seed=0); env.step('Be quick.'); print('fine')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "fine\n", done.stderr


REWARDS = (float("nan"), float("inf"), np.float32(0.5), np.bool_(True), np.array(0.25), 1)


def test_s34_rewards_of_any_kind_leave_strict_files_and_finite_means(family: Any, tmp_path: Path) -> None:
    def open_task(task: metagym.Task) -> ListEnv:
        return ListEnv("START", [("x", REWARDS[task.seed], True, False, {"success": np.bool_(True)})])  # type: ignore[list-item]

    name = family(family_of(open_task, "Odd", count=6))
    config = small(family=name, actor="random", batch_size=6, meta_turns=0, eval_tasks=0)
    results = run(config, tmp_path)
    by_seed = {item.episode.task.seed: item.episode for item in results.played}
    assert [by_seed[seed].ret for seed in (2, 3, 4, 5)] == [0.5, 1.0, 0.25, 1.0]
    for seed in (0, 1):
        assert not by_seed[seed].scored and "Odd/train-" in by_seed[seed].cause and "finite" in by_seed[seed].cause
    assert mean_return(list(by_seed.values())) == pytest.approx(2.75 / 4)
    for line in (tmp_path / RECORDS).read_text("utf-8").splitlines():
        strict_json(line)
    assert "Unscored: 2 of 6" in write_report(tmp_path).read_text("utf-8")


def test_s19_and_s11_a_whole_run_keeps_every_word_and_every_turns_reward(family: Any, tmp_path: Path) -> None:
    prompt = 'Say {"cmd": "go"}, {}, {0}, {, %s, $x, {{y}}'
    steps = [("a", 0.2, False, False, {}), ("b", 0.0, False, False, {}), ("c", -0.1, True, False, {})]
    name = family(fixed(*steps, name="Rewards"))

    def brain(request: Request) -> str:
        return f"IMPROVED PROMPT:\n{prompt}" if "coach" in request.messages[0].content else "Action: x"

    with FakeServer(brain) as server:
        spec = server.spec()
        results = run(small(family=name, actor=spec, reflector=spec), tmp_path)
    systems = {m["content"] for body in server.chats for m in body["messages"] if m["role"] == "system"}
    assert prompt in systems and results.prompts[-1].prompt == prompt
    for item in results.played:
        episode: Episode = item.episode
        assert [turn.reward for turn in episode.turns] == [0.2, 0.0, -0.1] and episode.ret == pytest.approx(0.1)
    assert results.curve().points[-1].returns.value == pytest.approx(0.1)
