"""The replay reward: numbers for the policy's failures, None for the machine's, and nothing raised in between."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from metagym import Family, PlaySettings, Task, TaskSet, chat
from metagym.chat import Request
from metagym.errors import BadInput, ServerUnavailable, TooManyFailures
from metagym.playing.runner import play
from metagym_trainers.ict import ReplayReward, Replays, ReplaySpec, ict_dataset
from metagym_trainers.ict.rewards import METRICS
from metagym_trainers.ict.rows import training_rows
from metagym_trainers.tiny import ict_world
from tests.support.fake_server import FakeServer

HEADING = ict_world.HEADING
Rows = list[dict[str, Any]]


def ask(reward: ReplayReward, completions: list[Any], rows: Rows, **more: Any) -> list[float | None]:
    """One call, as the trainer makes it."""
    made = training_rows(rows)
    columns = {"prompts": [row["prompt"] for row in made], "replay": [row["replay"] for row in made]}
    return asyncio.run(reward(completions=completions, trainer_state=None, environments=None, **columns, **more))


class Log(dict[str, float]):
    """Takes metrics, and refuses one that was logged before."""

    def __call__(self, name: str, value: float) -> None:
        assert name not in self
        self[name] = value


def test_the_reward_is_the_mean_return_of_the_batch_under_the_prompt(rows: Rows, right: Callable[[Any], str]) -> None:
    half = f"{HEADING} {right(rows[0]).split()[2]}"
    found = ask(ReplayReward(Replays()), [right(rows[0]), half, f"{HEADING} sing"], [rows[0]] * 3)
    assert found == [1.0, 0.5, 0.0]


def test_it_is_what_play_gives_with_the_row_s_seeds_and_settings(rows: Rows) -> None:
    seen: list[Request] = []

    def noisy(request: Request) -> str:
        seen.append(request)
        return f"Action: use {ict_world.TOOLS[(request.seed or 0) % 8]}"

    row = {**rows[0], "seat": {**rows[0]["seat"], "temperature": 0.7, "max_tokens": 33}}
    actor = chat.scripted(noisy, id="noisy")
    found = ask(ReplayReward(Replays(actor)), [f"{HEADING} be bold"], [row])
    asked = list(seen)
    spec = ReplaySpec.from_row(row)
    episodes = play(
        spec.tasks, actor, system_prompt="be bold", family=ict_world.family(), seed=row["actor_seed"], seat=spec.seat
    )
    assert found == [sum(episode.ret for episode in episodes) / 2]
    assert [(r.messages, r.seed, r.temperature, r.max_tokens) for r in asked] == [
        (r.messages, r.seed, r.temperature, r.max_tokens) for r in seen[len(asked) :]
    ]
    assert {request.temperature for request in asked} == {0.7} and {request.max_tokens for request in asked} == {33}


def test_candidates_of_a_group_are_played_with_the_same_seeds(rows: Rows) -> None:
    seeds: dict[str, list[int | None]] = {}

    def note(request: Request) -> str:
        seeds.setdefault(request.messages[0].content, []).append(request.seed)
        return "Action: use nothing"

    ask(ReplayReward(Replays(note)), [f"{HEADING} one", f"{HEADING} two"], [rows[0]] * 2)
    assert sorted(seeds["one"]) == sorted(seeds["two"]) and len(set(seeds["one"])) == 2


def test_a_completion_without_a_prompt_gets_the_documented_number(rows: Rows, right: Callable[[Any], str]) -> None:
    log = Log()
    reward = ReplayReward(Replays(), unparsed=-0.25)
    found = ask(reward, ["I would rather not.", "", right(rows[0])], [rows[0]] * 3, log_metric=log)
    assert found == [-0.25, -0.25, 1.0]
    assert log["replay/unparsed"] == 2 and log["replay/unscored"] == 0 and log["replay/return"] == 1.0
    assert ask(ReplayReward(Replays()), ["no"], [rows[0]]) == [0.0]


def test_a_completion_cut_at_the_limit_is_no_prompt(rows: Rows, right: Callable[[Any], str]) -> None:
    reward = ReplayReward(Replays(), ends={3})
    text = right(rows[0])
    assert ask(reward, [text, text], [rows[0]] * 2, completion_ids=[[1, 2, 3], [1, 2, 4]]) == [1.0, 0.0]


def test_equal_candidates_are_played_once_and_remembered(rows: Rows, right: Callable[[Any], str]) -> None:
    calls = 0

    def act(request: Request) -> str:
        nonlocal calls
        calls += 1
        return "Action: use nothing"

    reward = ReplayReward(Replays(act))
    texts = [right(rows[0]), right(rows[0]), f"{HEADING} other", "none"]
    first, second = Log(), Log()
    found = ask(reward, texts, [rows[0]] * 4, log_metric=first)
    assert calls == 4 and first["replay/episodes"] == 4  # two prompts, two tasks
    assert first["replay/cache_hit_rate"] == pytest.approx(1 / 3)
    assert ask(reward, texts, [rows[0]] * 4, log_metric=second) == found
    assert calls == 4 and second["replay/cache_hit_rate"] == 1.0 and second["replay/episodes"] == 0
    assert second["replay/success_rate"] == first["replay/success_rate"]  # as rich as a fresh one


def test_s38_the_memory_of_replays_is_keyed_on_all_that_decides_one(rows: Rows) -> None:
    ict_world.register()
    spec = ReplaySpec.from_row(rows[0])
    plain = Replays()
    key = plain.key(spec, "p")
    changed = [
        replace(spec, tasks=spec.tasks[:1]),
        replace(spec, tasks=(replace(spec.tasks[0], seed=9), *spec.tasks[1:])),
        replace(spec, actor_seed=spec.actor_seed + 1),
        replace(spec, seat=replace(spec.seat, temperature=0.5)),
        replace(spec, clean=False),
        replace(spec, max_steps=2),
    ]
    assert len({key, plain.key(spec, "p "), *(plain.key(other, "p") for other in changed)}) == len(changed) + 2
    assert plain.key(replace(spec, row="elsewhere", system_prompt="other"), "p") == key  # neither is played
    act = chat.scripted(lambda request: "x", id="another actor")
    assert Replays(act).key(spec, "p") != key
    newer = Replays()
    newer._families[spec.family_key] = replace(ict_world.family(), versions={"world": 2})
    assert newer.key(spec, "p") != key
    assert Replays(settings=PlaySettings(max_failures=0.0)).key(spec, "p") != key


def test_s13_rows_of_equal_text_and_other_tasks_are_never_merged(rows: Rows, right: Callable[[Any], str]) -> None:
    other = {**rows[0], "tasks": [{**task, "id": "gem-ice", "type": "gem-ice"} for task in rows[0]["tasks"][:1]]}
    other["id"] = rows[0]["id"]  # the very same id and text
    texts = [f"{HEADING} skates"] * 2
    assert ask(ReplayReward(Replays()), texts, [other, rows[0]]) != [None, None]
    found = ask(ReplayReward(Replays()), texts, [other, {**other, "tasks": rows[1]["tasks"]}])
    expected = [
        ask(ReplayReward(Replays()), texts[:1], [row])[0] for row in (other, {**other, "tasks": rows[1]["tasks"]})
    ]
    assert found == expected and found[0] == 1.0


def test_s19_any_prompt_reaches_the_server_byte_for_byte(rows: Rows) -> None:
    tricky = '{"cmd": "go"} {} {0} { %s $x {{y}} ключ'
    with FakeServer(brain=lambda request: "Action: use skates") as server:
        reward = ReplayReward(Replays(server.spec()))
        for round_ in range(3):
            ask(reward, [f"ANALYSIS: {{x}}\n{HEADING}\n{tricky} {round_}"], [rows[0]])
        sent = [body["messages"][0] for body in server.chats]
    assert sent == [{"role": "system", "content": f"{tricky} {n}"} for n in range(3) for _ in range(2)]


# --- failures


def failing(word: str) -> Callable[[Request], str]:
    """An actor whose server is down for prompts that hold a word."""

    def act(request: Request) -> str:
        if word in request.messages[0].content:
            raise ServerUnavailable("the server went away")
        return "Action: use skates"

    return act


def test_s15_a_replay_that_could_not_be_measured_is_none_and_counted(rows: Rows) -> None:
    log, extra = Log(), {}
    reward = ReplayReward(Replays(failing("down")))
    texts = [f"{HEADING} down", f"{HEADING} up", "nothing"]
    found = ask(reward, texts, [rows[0]] * 3, log_metric=log, log_extra=extra.__setitem__)
    assert found[0] is None and found[1] is not None and found[2] == 0.0
    assert (log["replay/unscored"], log["replay/unparsed"], log["replay/episodes_failed"]) == (1, 1, 2)
    assert extra == {"replay_outcome": ["unscored", "improved", "no-section"]}
    assert log["replay/return"] == found[1]  # neither of the others moves the mean


def test_s15_a_batch_without_any_measured_replay_stops_the_training(rows: Rows) -> None:
    log = Log()
    with pytest.raises(TooManyFailures, match="none of the 2 replays.*the server went away.*resume"):
        ask(
            ReplayReward(Replays(failing(""))),
            [f"{HEADING} a", "nothing", f"{HEADING} b"],
            [rows[0]] * 3,
            log_metric=log,
        )
    assert set(log) == set(METRICS) and log["replay/unscored"] == 2  # counted before it stops


def test_a_batch_of_unparsed_completions_is_the_policy_s_failure_and_goes_on(rows: Rows) -> None:
    log = Log()
    assert ask(ReplayReward(Replays(failing(""))), ["no", "never"], [rows[0]] * 2, log_metric=log) == [0.0, 0.0]
    assert math.isnan(log["replay/return"]) and math.isnan(log["replay/cache_hit_rate"])


def test_a_failed_replay_is_tried_again(rows: Rows) -> None:
    down = True

    def act(request: Request) -> str:
        if down:
            raise ServerUnavailable("down")
        return "Action: use skates"

    reward = ReplayReward(Replays(act))
    with pytest.raises(TooManyFailures):
        ask(reward, [f"{HEADING} a"], [rows[0]])
    down = False
    assert ask(reward, [f"{HEADING} a"], [rows[0]])[0] is not None


def test_the_share_of_failed_episodes_decides_what_is_measured(rows: Rows) -> None:
    hazards = [[task["id"].split("-")[1] for task in row["tasks"]] for row in rows]
    at = next(at for at, pair in enumerate(hazards) if pair[0] != pair[1])
    first = hazards[at][0]
    healthy = next(row for row, pair in zip(rows, hazards, strict=True) if first not in pair)

    def act(request: Request) -> str:
        if f" {first}." in request.messages[-1].content:
            raise ServerUnavailable("down")
        return "Action: use nothing"

    def found(limit: float) -> float | None:
        replays = Replays(act, settings=PlaySettings(max_failures=limit))
        return ask(ReplayReward(replays), [f"{HEADING} a", f"{HEADING} b"], [rows[at], healthy])[0]

    assert found(0.5) == 0.0  # by the one that was scored
    assert found(0.4) is None


def test_an_actor_that_hangs_costs_its_deadline_and_no_more(rows: Rows) -> None:
    async def act(request: Request) -> str:
        if "hang" in request.messages[0].content:
            await asyncio.Event().wait()
        return "Action: use skates"

    replays = Replays(act, deadline=0.3)
    log = Log()
    found = ask(ReplayReward(replays), [f"{HEADING} hang", f"{HEADING} go"], [rows[0]] * 2, log_metric=log)
    assert found[0] is None and found[1] is not None and log["replay/episodes_failed"] == 2


def test_a_broken_family_is_no_fault_of_a_candidate(rows: Rows) -> None:
    broken = {**rows[0], "family": "NobodyKnowsIt"}
    assert ask(ReplayReward(Replays()), [f"{HEADING} a", f"{HEADING} b"], [broken, rows[0]])[0] is None


def test_a_missing_column_or_a_wrong_count_is_named(rows: Rows) -> None:
    reward = ReplayReward(Replays())
    with pytest.raises(BadInput, match="no column 'replay'.*metagym ict collect.*ict_dataset"):
        asyncio.run(reward(prompts=["x"], completions=["y"]))
    with pytest.raises(BadInput, match="2 completions and 1 entries"):
        asyncio.run(reward(prompts=["x"] * 2, completions=["y"] * 2, replay=[training_rows(rows)[0]["replay"]]))


def test_a_server_that_is_down_is_known_before_the_training(rows: Rows) -> None:
    with FakeServer() as server:
        spec = server.spec(retries=0)
        ReplayReward(Replays(spec)).check(ict_dataset(rows))
        assert len(server.chats) == 1  # one step of one task
    with pytest.raises(TooManyFailures, match=r"ServerUnavailable.*nothing was trained.*serve_actor\.sh"):
        ReplayReward(Replays(spec)).check(ict_dataset(rows))
    with pytest.raises(BadInput, match="no column 'replay'"):
        ReplayReward(Replays()).check([{"prompt": "x"}])


def test_a_server_that_goes_down_in_the_middle_gives_none(rows: Rows) -> None:
    with FakeServer(brain=lambda request: "Action: use skates", faults=[None, None], always="500") as server:
        reward = ReplayReward(
            Replays(server.spec(retries=0), concurrency=1)
        )  # so the first candidate is asked for first
        found = ask(reward, [f"{HEADING} a", f"{HEADING} b"], [rows[0]] * 2)
    assert found[0] is not None and found[1] is None


# --- concurrency


@pytest.mark.parametrize(("concurrency", "expected"), [(64, 8), (3, 3), (1, 1)])
def test_trl_issue_13_replays_of_a_batch_overlap_over_candidates_and_tasks(
    concurrency: int, expected: int, rows: Rows
) -> None:
    inside = most = 0
    full = asyncio.Event()

    async def act(request: Request) -> str:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        if inside == expected:
            full.set()
        await asyncio.wait_for(full.wait(), 30)  # nobody leaves before all that may be inside are
        await asyncio.sleep(0)
        inside -= 1
        return "Action: use nothing"

    reward = ReplayReward(Replays(act, concurrency=concurrency))
    found = ask(reward, [f"{HEADING} {n}" for n in range(4)], [rows[0]] * 4)
    assert found == [0.0] * 4 and most == expected  # 4 candidates x 2 tasks


def test_one_reward_serves_several_event_loops(rows: Rows, right: Callable[[Any], str]) -> None:
    reward = ReplayReward(Replays(concurrency=1))
    for row in rows[:3]:
        assert ask(reward, [right(row)], [row]) == [1.0]  # each call runs on a loop of its own


def test_a_task_that_stands_in_a_batch_twice_is_sampled_twice(rows: Rows) -> None:
    seeds: list[int | None] = []

    def act(request: Request) -> str:
        seeds.append(request.seed)
        return "Action: use nothing"

    row = {**rows[0], "tasks": [rows[0]["tasks"][0], rows[0]["tasks"][1], rows[0]["tasks"][0]]}
    ask(ReplayReward(Replays(act)), [f"{HEADING} a"], [row])
    ours, seeds = seeds, []
    spec = ReplaySpec.from_row(row)
    play(spec.tasks, act, system_prompt="a", family=ict_world.family(), seed=spec.actor_seed, seat=spec.seat)
    assert sorted(map(str, ours)) == sorted(map(str, seeds)) and len(set(ours)) == 3


def test_processes_of_a_pool_are_shared_and_ended(rows: Rows) -> None:
    replays = Replays(hosts="inline")

    async def scene() -> tuple[int, int]:
        reward = ReplayReward(replays)
        made = training_rows(rows[:2])
        await reward(None, [f"{HEADING} a", f"{HEADING} b"], replay=[row["replay"] for row in made])
        pools = len(replays._pools.get())
        await replays.aclose()
        return pools, len(replays._pools.get())

    assert asyncio.run(scene()) == (1, 0)


def test_a_replay_remembers_only_so_much(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagym_trainers.ict.replays.CACHED", 2)
    replays = Replays()
    ask(ReplayReward(replays), [f"{HEADING} {n}" for n in range(5)], [rows[0]] * 5)
    assert len(replays._known) == 2


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"deadline": 0}, {"deadline": math.inf}])
def test_unusable_settings_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        Replays(**options)
    with pytest.raises(BadInput):
        ReplayReward(Replays(), unparsed=math.nan)


def test_s03_success_is_not_return(rows: Rows) -> None:
    """A batch of shaped returns has a mean return and another success rate."""
    import gymnasium

    from metagym.families import drop_factory
    from metagym.registration import register_family
    from tests.support.worlds import ListEnv

    def open_(task: Task) -> gymnasium.Env[str, str]:
        return ListEnv("go", [("done", 0.3, True, False, {"success": False})])

    register_family("ShapedThing", lambda: Family("ShapedThing", lambda s: TaskSet([Task("ShapedThing", "a")]), open_))
    try:
        row = {**rows[0], "family": "ShapedThing", "tasks": [Task("ShapedThing", "a").to_json()], "max_steps": 3}
        log = Log()
        assert ask(ReplayReward(Replays(lambda r: "Action: x")), [f"{HEADING} a"], [row], log_metric=log) == [0.3]
        assert log["replay/success_rate"] == 0.0
    finally:
        drop_factory("ShapedThing")
