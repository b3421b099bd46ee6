from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import metagym
from metagym import Family, PlaySettings, Status, Task
from metagym.chat import Reply, Request, scripted
from metagym.chat.scripted import Scripted
from metagym.episodes import Repair
from metagym.errors import BadInput, BudgetExceeded, ContextOverflow, MetaGymError, TooManyFailures
from metagym.playing import ActorSettings, play_async
from metagym.playing.actor import NO_ACTION
from metagym.playing.hosts import InlineHost, Transition
from metagym.playing.worker import plain
from tests.support.worlds import FailingEnv, GuessEnv, HangingEnv, ListEnv, family_of, guess_family

HOSTS = ("inline", "thread", "process:2")


def go(request: Request) -> str:
    return "Thought: onwards.\nAction: go"


def ends_at(step: int, reward: float = 1.0) -> Family:
    steps = [(f"see {i}", reward, i == step, False, {}) for i in range(1, step + 1)]
    return family_of(lambda task: ListEnv("start", steps))


@pytest.mark.parametrize("hosts", HOSTS)
def test_s01_every_episode_has_its_own_length_and_return(hosts: str) -> None:
    family = ends_at(3)
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return go(request)

    tasks = list(family.tasks("train"))[:8]
    episodes = metagym.play(tasks, answer, family=family, hosts=hosts, concurrency=2)
    assert [(e.steps, e.ret) for e in episodes] == [(3, 3.0)] * 8
    assert len(asked) == 24  # no call is spent on a dead step
    assert [e.task for e in episodes] == tasks


def test_s02_the_terminal_observation_is_kept() -> None:
    family = family_of(lambda task: ListEnv("START", [("mid", 0, False, False, {}), ("FINAL-7", 1, True, False, {})]))
    one, two = metagym.play(list(family.tasks("train"))[:2], go, family=family)
    assert one.last_observation == two.last_observation == "FINAL-7"
    assert [t.observation for t in one.turns] == ["START", "mid"]


def test_s03_terminated_truncated_and_success_are_three_things() -> None:
    ended = family_of(
        lambda task: ListEnv("s", [("a", 0, False, False, {}), ("b", 0, True, False, {"success": False})])
    )
    cut = family_of(lambda task: ListEnv("s", [("x", 0, False, False, {"success": False})] * 9), max_steps=2)
    [a] = metagym.play([ended.tasks("train")[0]], go, family=ended)
    [b] = metagym.play([cut.tasks("train")[0]], go, family=cut)
    assert (a.terminated, a.truncated, a.success, a.status) == (True, False, False, Status.OK)
    assert (b.terminated, b.truncated, b.success, b.status) == (False, True, False, Status.TRUNCATED)
    assert b.cause == "step cap" and b.steps == 2


def test_shaped_rewards_are_no_success() -> None:
    family = ends_at(2, reward=0.3)
    [episode] = metagym.play([family.tasks("train")[0]], go, family=family)
    assert episode.ret == pytest.approx(0.6) and episode.success is None


def test_s06_nothing_survives_from_one_episode_to_the_next() -> None:
    family = guess_family()
    task = family.tasks("train")[0]
    [one], [two] = (metagym.play([task], "random", family=family) for _ in range(2))
    assert one.turns == two.turns  # same task, same seed, no counters in between


def test_attempts_at_one_task_are_samples_of_their_own() -> None:
    family = guess_family(max_steps=8)
    task, other = family.tasks("train")[0], family.tasks("train")[1]
    episodes = metagym.play([task, other, task, task], "random", family=family)
    assert len({e.seed for e in episodes}) == 4
    assert episodes[0] == metagym.play([task], "random", family=family)[0]
    assert episodes == metagym.play([task, other, task, task], "random", family=family, concurrency=1)


def test_samples_played_in_several_calls_have_the_seeds_of_one() -> None:
    family = guess_family()
    a, b = family.task_set("train")[:2]
    whole = metagym.play([a, a, b, a], "random", family=family, seed=3)
    apart = [
        metagym.play([task], "random", family=family, seed=3, attempts=[number])[0]
        for task, number in ((a, 0), (a, 1), (b, 0), (a, 2))
    ]
    assert [e.seed for e in whole] == [e.seed for e in apart] and len({e.seed for e in whole}) == 4
    assert whole == apart
    with pytest.raises(BadInput, match="one number per task"):
        metagym.play([a, b], "random", family=family, attempts=[0])


def test_s07_parallel_games_share_nothing() -> None:
    family = guess_family(max_steps=1)
    tasks = list(family.tasks("train"))[:4]

    def green(request: Request) -> str:
        return "Action: green"

    together = metagym.play(tasks, green, family=family)
    alone = [metagym.play([task], green, family=family)[0] for task in tasks]
    assert [e.success for e in together] == [False, True, False, False]
    assert together == alone
    assert ["Right." in e.last_observation for e in together] == [False, True, False, False]


@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize("concurrency", [1, 5])
def test_any_worker_count_gives_the_same_records(hosts: str, concurrency: int) -> None:
    family = guess_family(max_steps=6)
    tasks = list(family.tasks("train"))[:10]
    expected = metagym.play(tasks, "random", family=family, hosts="inline", concurrency=1, seed=5)
    got = metagym.play(tasks, "random", family=family, hosts=hosts, concurrency=concurrency, seed=5)
    assert [e.to_json() for e in got] == [e.to_json() for e in expected]
    assert got != metagym.play(tasks, "random", family=family, seed=6)


def test_s16_a_failing_and_a_hanging_episode_leave_the_others_alone() -> None:
    def open_task(task: Task) -> GuessEnv:
        return {"train-3": FailingEnv, "train-5": HangingEnv}.get(task.id, GuessEnv)()

    family = family_of(open_task, "Guess", host="thread", max_steps=3)
    started = time.monotonic()
    episodes = metagym.play(
        list(family.tasks("train"))[:8], "random", family=family, settings=PlaySettings(env_deadline=0.5)
    )
    assert time.monotonic() - started < 20
    assert [e.status is Status.ERROR for e in episodes] == [i in (3, 5) for i in range(8)]
    assert "the engine broke" in episodes[3].cause and "within 0.5 s" in episodes[5].cause
    assert sum(e.scored for e in episodes) == 6


def test_s16_too_many_failures_stop_with_everything_played() -> None:
    family = family_of(lambda task: FailingEnv(), "Guess")
    with pytest.raises(TooManyFailures, match="4 of 4 episodes failed .*train-0.*the engine broke") as caught:
        metagym.play(list(family.tasks("train"))[:4], "random", family=family)
    assert len(caught.value.episodes) == 4


def test_s16_a_hanging_model_ends_its_episode_alone() -> None:
    async def slow(request: Request) -> str:
        if "number 3" in request.messages[0].content:
            await asyncio.sleep(60)
        return "Action: red"

    family = guess_family(max_steps=2)
    episodes = metagym.play(
        list(family.tasks("train"))[:6], scripted(slow), family=family, settings=PlaySettings(model_deadline=0.3)
    )
    assert [e.status is Status.ERROR for e in episodes] == [i == 3 for i in range(6)]
    assert "did not answer within 0.3 s" in episodes[3].cause


def test_a_slow_reply_delays_its_own_episode_only() -> None:
    order: list[str] = []

    async def answer(request: Request) -> str:
        slow = "number 0" in request.messages[0].content
        await asyncio.sleep(0.5 if slow else 0.001)
        order.append("slow" if slow else "quick")
        return "Action: nothing"

    family = guess_family(max_steps=3)
    metagym.play(list(family.tasks("train"))[:8], scripted(answer), family=family)
    assert order[:21] == ["quick"] * 21 and order[21:] == ["slow"] * 3


def test_context_overflow_cuts_the_episode_and_keeps_its_rewards() -> None:
    async def answer(request: Request) -> str:
        if len(request.messages) > 3:
            raise ContextOverflow("1,200 of 1,000 tokens")
        return "Action: go"

    family = family_of(lambda task: ListEnv("s", [("x", 0.5, False, False, {})] * 9))
    [episode] = metagym.play([family.tasks("train")[0]], scripted(answer), family=family)
    assert episode.status is Status.TRUNCATED and episode.cause.startswith("context:")
    assert episode.ret == 1.0 and episode.scored


def test_an_exhausted_budget_stops_the_batch() -> None:
    def answer(request: Request) -> str:
        raise BudgetExceeded("3 of 3 calls are spent")

    family = guess_family()
    with pytest.raises(BudgetExceeded, match="3 of 3"):
        metagym.play(list(family.tasks("train"))[:4], answer, family=family)


def test_a_batch_that_stops_first_takes_the_replies_on_their_way() -> None:
    answered: list[int] = []
    asked: list[int] = []

    async def answer(request: Request) -> str:
        number = int(request.messages[0].content.rsplit("number ", 1)[1].split(".")[0])
        asked.append(number)
        if number == 1:
            await asyncio.sleep(0.01)  # by now the others wait for their replies
            raise BudgetExceeded("spent")
        await asyncio.sleep(0.05)
        answered.append(number)
        return "Action: nothing"

    family = guess_family()
    with pytest.raises(BudgetExceeded):
        metagym.play(list(family.tasks("train"))[:4], scripted(answer), family=family)
    assert sorted(answered) == [0, 2, 3] and sorted(asked) == [0, 1, 2, 3]


@pytest.mark.parametrize("reply", ["", None, Reply(None, absence="length"), Reply(None, absence="refused")])
def test_s17_an_absent_answer_is_a_counted_turn_and_never_reaches_the_environment(reply: Any) -> None:
    env = ListEnv("s", [("x", 0, False, False, {})] * 9)
    family = family_of(lambda task: env, max_steps=2)
    [episode] = metagym.play([family.tasks("train")[0]], lambda request: reply, family=family)
    assert env.actions == []
    assert episode.steps == 2 and episode.count(Repair.ABSENT) == 2
    assert episode.turns[1].observation == NO_ACTION
    assert episode.turns[0].absence is not None


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), None, "1"])
def test_s34_a_reward_that_is_no_finite_number_is_refused(reward: Any) -> None:
    family = family_of(lambda task: ListEnv("s", [("x", reward, True, False, {})]))
    with pytest.raises(TooManyFailures, match="Toy/train-0.*reward"):
        metagym.play([family.tasks("train")[0]], go, family=family)


def test_a_worker_keeps_what_was_not_measured_and_drops_what_has_no_json_form() -> None:
    info = {"scores": {"official": 0.0, "abstention": None}, "engine": object()}
    assert plain(info) == {"scores": {"official": 0.0, "abstention": None}}


def test_s34_array_scalars_become_plain_numbers() -> None:
    import json

    import numpy as np

    step = ("x", np.float32(0.5), np.bool_(True), np.array(False), {"success": np.bool_(True)})
    family = family_of(lambda task: ListEnv("s", [step]))  # type: ignore[list-item]
    [episode] = metagym.play([family.tasks("train")[0]], go, family=family)
    assert json.loads(json.dumps(episode.to_json(), allow_nan=False))["return"] == 0.5
    assert type(episode.success) is bool


def test_a_return_is_the_same_sum_on_every_python() -> None:
    [episode] = metagym.play([(family := ends_at(10, reward=0.1)).tasks("train")[0]], go, family=family)
    assert episode.ret == 1.0  # up to Python 3.11 the built-in sum gives 0.9999999999999999


def test_an_observation_that_is_no_text_is_refused() -> None:
    family = family_of(lambda task: ListEnv("s", [(7, 0.0, True, False, {})]))  # type: ignore[list-item]
    with pytest.raises(TooManyFailures, match="int as observation"):
        metagym.play([family.tasks("train")[0]], go, family=family)


def test_s31_lambdas_and_families_of_the_main_script_reach_the_workers(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(
        "import gymnasium, metagym\n"
        "class Mine(gymnasium.Env):\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        return f'seed {seed}', {}\n"
        "    def step(self, action):\n"
        "        return action, 1.0, True, False, {'success': True}\n"
        "family = metagym.Family('Mine', lambda split: metagym.TaskSet([metagym.Task('Mine', 'a', seed=4)]), "
        "lambda task: Mine())\n"
        "metagym.register_family(family, namespace='Main')\n"
        "[e] = metagym.play(family.tasks('train'), lambda r: 'Action: hello', hosts='process:1')\n"
        "print(e.turns[0].observation, e.last_observation, e.success)\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "seed 4 hello True\n", done.stderr


def test_s31_what_cannot_be_sent_fails_before_any_worker_starts() -> None:
    lock = threading.Lock()
    family = family_of(lambda task: (lock, GuessEnv())[1])
    before = _children()
    with pytest.raises(BadInput, match="'open' cannot be sent to a worker process"):
        metagym.play([family.tasks("train")[0]], go, family=family, hosts="process:2")
    assert _children() == before


def _children() -> set[str]:
    return {p.name for p in Path("/proc").glob("[0-9]*") if _parent(p) == os.getpid()}


def _parent(folder: Path) -> int | None:
    try:
        return int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return None


def test_s36_workers_start_beside_busy_threads_and_silent_ones_are_replaced() -> None:
    lock, stop = threading.Lock(), threading.Event()

    def busy() -> None:
        while not stop.is_set():
            with lock:
                time.sleep(0.001)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        family = family_of(lambda task: HangingEnv() if task.id == "train-2" else GuessEnv(), "Guess", max_steps=3)
        before = _children()
        episodes = metagym.play(
            list(family.tasks("train"))[:8],
            "random",
            family=family,
            hosts="process:2",
            settings=PlaySettings(env_deadline=2.0),
        )
        assert [e.status is Status.ERROR for e in episodes] == [i == 2 for i in range(8)]
        assert "its worker was ended" in episodes[2].cause
        assert _children() == before  # collected, no zombies
    finally:
        stop.set()
        thread.join()


def test_a_crashing_worker_ends_one_episode() -> None:
    def die(task: Task) -> GuessEnv:
        if task.id == "train-1":
            print("no memory left", flush=True)
            os._exit(7)
        return GuessEnv()

    family = family_of(die, "Guess", max_steps=3)
    episodes = metagym.play(list(family.tasks("train"))[:4], "random", family=family, hosts="process:1")
    assert [e.status is Status.ERROR for e in episodes] == [i == 1 for i in range(4)]
    assert "died" in episodes[1].cause and "7" in episodes[1].cause and "last printed: no memory" in episodes[1].cause


def test_a_hanging_worker_does_not_outlive_a_killed_parent() -> None:
    code = (
        "import metagym, os, time\n"
        "from tests.support.worlds import family_of\n"
        "def hang(task):\n"
        "    print('WORKER', os.getpid(), flush=True)\n"
        "    open(os.environ['PID_FILE'], 'w').write(str(os.getpid()))\n"
        "    time.sleep(100)\n"
        "f = family_of(hang, 'Guess')\n"
        "metagym.play([f.tasks('train')[0]], 'random', family=f, hosts='process:1')\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pid"
        parent = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PID_FILE": str(file)})
        deadline = time.monotonic() + 60
        while not (file.exists() and file.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        worker = int(file.read_text())
        parent.kill()
        parent.wait()
        while Path(f"/proc/{worker}").exists() and _state(worker) != "Z" and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not Path(f"/proc/{worker}").exists() or _state(worker) == "Z"


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


def test_a_family_whose_success_cannot_be_told_fails_alone() -> None:
    def broken(info: Any, ret: float, terminated: bool) -> bool:
        raise KeyError("end_status")

    async def overflow(request: Request) -> str:
        raise ContextOverflow("too long")

    family = guess_family(success=broken)
    for model in ("random", scripted(overflow)):
        with pytest.raises(TooManyFailures, match="end_status"):
            metagym.play(list(family.tasks("train"))[:2], model, family=family)


def test_a_printing_engine_does_not_disturb_its_worker() -> None:
    def loud(task: Task) -> GuessEnv:
        print("noise " * 1000, flush=True)
        return GuessEnv()

    family = family_of(loud, "Guess", max_steps=3)
    episodes = metagym.play(list(family.tasks("train"))[:3], "random", family=family, hosts="process:1")
    assert all(e.scored for e in episodes)


def test_both_twins_give_the_same_and_work_inside_a_running_loop() -> None:
    family = guess_family()
    tasks = list(family.tasks("train"))[:3]

    async def inside() -> tuple[list[Any], list[Any]]:
        return await play_async(tasks, "random", family=family), metagym.play(tasks, "random", family=family)

    one, two = asyncio.run(inside())
    assert one == two == metagym.play(tasks, "random", family=family)


def test_ctrl_c_stops_at_once() -> None:
    code = (
        "import asyncio, metagym, os, signal, threading\n"
        "from metagym.chat import scripted\n"
        "from tests.support.worlds import guess_family\n"
        "async def slow(request):\n"
        "    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "    await asyncio.sleep(60)\n"
        "f = guess_family()\n"
        "metagym.play([f.tasks('train')[0]], scripted(slow), family=f)\n"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert "KeyboardInterrupt" in done.stderr and time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": []}, "at least one task"),
        ({"tasks": ["a"]}, "a list of metagym.Task, and 'a' is none"),
        ({"tasks": "a"}, r"a list of tasks, got 'a'; write \[task\]"),
        ({"tasks": Task("Guess", "x")}, r"a list of tasks, got Task\(.*; write \[task\]"),
        ({"tasks": None}, "a list of tasks, got None"),
        ({"family": "Nowhere"}, "no family 'Nowhere'"),
        ({"hosts": 5}, "hosts is"),
        ({"actor": "nonsense:x"}, "nonsense"),
        ({"actor": "rules"}, "stand-in"),
        ({"actor": 7}, "model"),
        ({"hosts": "moon"}, "hosts is"),
        ({"hosts": "process:0"}, "hosts is"),
        ({"concurrency": 0}, "concurrency"),
        ({"max_steps": 0}, "max_steps"),
        ({"seed": -1}, "seed"),
        ({"system_prompt": 3}, "system prompt is text"),
        ({"system_prompt": "a\x00b"}, "NUL character at position 1"),
        ({"system_prompt": "x" * 100_001}, "100,001 characters"),
        ({"system_prompt": "\ud800"}, "surrogate"),
        ({"tasks": [Task("Other", "x")]}, "belongs to family Other"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    family = guess_family()
    arguments = {"tasks": [family.tasks("train")[0]], "actor": "random", "family": family, **change}
    with pytest.raises(MetaGymError, match=message):
        metagym.play(arguments.pop("tasks"), arguments.pop("actor"), **arguments)


def test_a_family_that_needs_processes_gets_no_thread() -> None:
    family = guess_family(host="process")
    with pytest.raises(BadInput, match="needs hosts='process'"):
        metagym.play([family.tasks("train")[0]], "random", family=family, hosts="thread")


def test_system_prompt_and_history_reach_the_model_as_they_are() -> None:
    prompt = 'Say {"cmd": "go"} {} {0} { %s $x {{y}}\r\n\ttail '
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return f"Action: {len(asked)}"

    family = family_of(lambda task: ListEnv("s", [(f"o{i}", 0, i == 4, False, {}) for i in range(1, 5)]))
    metagym.play([family.tasks("train")[0]], answer, family=family, system_prompt=prompt, seat=ActorSettings(history=1))
    assert all(r.messages[0].role == "system" and r.messages[0].content == prompt for r in asked)
    assert [m.role for m in asked[-1].messages] == ["system", "user", "assistant", "user"]
    assert [m.content for m in asked[-1].messages[2:]] == ["Action: 3", "o3"]
    assert len({r.seed for r in asked}) == 4


def test_a_host_or_model_derived_from_ours_is_asked_by_its_own_methods() -> None:
    asked: list[str] = []

    class Host(InlineHost):
        async def step(self, action: str) -> Transition:
            asked.append("step")
            return await super().step(action)

    class Pool:
        def host(self, family: Family) -> Host:
            return Host(family, 1.0)

        async def close(self) -> None:
            return

    class Model(Scripted):
        async def chat(self, request: Request) -> Reply:
            asked.append("chat")
            return await super().chat(request)

    family = ends_at(3)
    model = Model(go, "derived", "scripted")
    metagym.play([family.tasks("train")[0]], model, family=family, hosts=Pool(), max_steps=1)
    assert asked == ["chat", "step"]
