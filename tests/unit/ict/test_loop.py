"""The online loop: what is played, reflected, scored and recorded, and in which order."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from metagym import chat
from metagym.chat import Request
from metagym.chat.store import ReplyStore
from metagym.episodes import Episode
from metagym.errors import BadInput, CacheMiss, MetaGymError, TasksExhausted, TooManyFailures, UnknownName
from metagym.families import Family
from metagym.ict.config import RunConfig
from metagym.ict.loop import Event, Loop, Seats, memory_records
from metagym.runs.folder import RECORDS
from metagym.runs.ict import run_ict
from metagym.runs.notices import notices
from metagym.runs.results import load_results
from tests.support import doors as toy
from tests.support.worlds import ListEnv, family_of


def settings(**changes: Any) -> RunConfig:
    return RunConfig(**{"family": "Doors", "batch_size": 4, "meta_turns": 3, "eval_tasks": 8, **changes})


def run(
    config: RunConfig, family: Family | None = None, actor: Any = toy.actor, reflector: Any = toy.reflector, **more: Any
) -> tuple[Loop, dict[str, Any]]:
    records = more.pop("records", None) or memory_records()
    seats = Seats(chat.load(actor), chat.load(reflector))
    loop = Loop(config, seats, records, family=family or toy.doors(), **more)
    asyncio.run(loop.run())
    return loop, records.items


def success(records: dict[str, Any], turn: int, phase: str = "eval") -> float:
    episodes = [r["episode"] for key, r in records.items() if key.startswith(f"turn/{turn}/{phase}/")]
    return sum(e["success"] for e in episodes) / len(episodes)


def ids(records: dict[str, Any], turn: int, phase: str) -> list[str]:
    return [r["episode"]["task"]["id"] for key, r in records.items() if key.startswith(f"turn/{turn}/{phase}/")]


def test_the_curve_rises_as_the_prompt_learns() -> None:
    loop, records = run(settings(batch_size=8))
    assert [success(records, turn) for turn in range(4)] == [0.0, 0.5, 1.0, 1.0]
    assert sorted(loop.env.prompt.splitlines()) == ["iron opens to knock", "oak opens to pull"]
    assert records["end"] == {"kind": "end", "turns": 3, "prompt": loop.env.prompt}


def test_every_step_is_a_record_in_the_order_of_the_walk() -> None:
    _, records = run(settings(meta_turns=1, batch_size=2, eval_tasks=2))
    assert list(records) == [
        *("turn/0/batch/0", "turn/0/batch/1", "turn/0/prompt", "turn/0/eval/0", "turn/0/eval/1"),
        *("turn/1/reflection", "turn/1/batch/0", "turn/1/batch/1", "turn/1/eval/0", "turn/1/eval/1", "end"),
    ]
    episode = records["turn/1/batch/1"]
    assert (episode["kind"], episode["turn"], episode["phase"], episode["slot"]) == ("episode", 1, "batch", 1)
    assert Episode.from_json(episode["episode"]).to_json() == episode["episode"]


def test_records_are_byte_equal_whatever_the_hosts_and_the_concurrency(tmp_path: Path, doors: None) -> None:
    config = settings(meta_turns=2, accept="not-worse", batch_size=6)
    written = set()
    places = [(None, None), ("inline", 1), ("thread", 3), ("process:2", None)]
    for number, (hosts, concurrency) in enumerate(places):
        folder = tmp_path / str(number)
        asyncio.run(run_ict(config, folder, hosts=hosts, concurrency=concurrency))
        written.add((folder / RECORDS).read_bytes())
    assert len(written) == 1 and written.pop().count(b'"kind":"episode"') == 3 * 6 + 3 * 8 + 2 * 6


def test_another_seed_draws_other_tasks_and_zero_is_a_seed() -> None:
    zero, again, one = (run(settings(seed=seed))[1] for seed in (0, 0, 1))
    assert zero == again
    assert ids(zero, 0, "batch") != ids(one, 0, "batch") and ids(zero, 0, "eval") != ids(one, 0, "eval")


def test_a_worse_prompt_is_rejected_recorded_and_counted(tmp_path: Path, doors: None) -> None:
    good = "oak opens to pull\niron opens to knock"
    config = settings(accept="not-worse", system_prompt=good, reflector="python:tests.support.doors:spoiler")
    asyncio.run(run_ict(config, tmp_path))
    results = load_results(tmp_path)
    assert [point.success.value for point in results.curve().points] == [1.0] * 4
    for step in results.prompts[1:]:
        assert not step.accepted and step.prompt == good and step.rejected_prompt == "Push harder."
        assert step.outcome == "improved"
    assert results.outcomes == {"not accepted": 3}
    for turn in (1, 2, 3):
        replayed, before = results.episodes(turn=turn, phase="accept"), results.episodes(turn=turn - 1, phase="batch")
        assert [(e.task, e.seed) for e in replayed] == [(e.task, e.seed) for e in before]
        assert sum(e.ret for e in replayed) == 0 < sum(e.ret for e in before)
    always = settings(system_prompt=good)
    _, records = run(always, reflector=toy.spoiler)
    assert success(records, 1) == 0.0  # without the rule it would have been taken


def test_an_equally_good_prompt_is_accepted() -> None:
    # One rule alone may raise nothing on this batch: whoever asks for a rise would refuse good edits.
    _, records = run(
        settings(accept="not-worse", meta_turns=1), reflector=lambda request: "IMPROVED PROMPT:\nBe brave."
    )
    assert records["turn/1/reflection"]["accepted"] and records["turn/1/reflection"]["prompt"] == "Be brave."


def test_the_held_out_set_is_fixed_spread_over_types_and_apart_from_training() -> None:
    _, records = run(settings())
    held_out = ids(records, 0, "eval")
    assert all(ids(records, turn, "eval") == held_out for turn in range(4))
    kinds = [records[f"turn/0/eval/{slot}"]["episode"]["task"]["type"] for slot in range(8)]
    assert kinds.count("oak") == kinds.count("iron") == 4
    trained = {name for turn in range(4) for name in ids(records, turn, "batch")}
    assert not trained & set(held_out) and len(trained) == 16


def test_a_held_out_set_that_overlaps_with_training_is_refused() -> None:
    with pytest.raises(BadInput, match="held-out task train-.* is a training task too"):
        run(settings(eval_split="train"))
    _, records = run(settings(eval_split="train", task_types=("oak",), eval_types=("iron",), meta_turns=1))
    assert not set(ids(records, 0, "batch")) & set(ids(records, 0, "eval"))


def test_scores_are_taken_every_nth_turn_and_at_both_ends() -> None:
    _, records = run(settings(meta_turns=5, eval_every=2))
    assert [turn for turn in range(6) if f"turn/{turn}/eval/0" in records] == [0, 2, 4, 5]


def test_a_run_may_be_longer_than_training_was_and_may_have_no_turn_at_all() -> None:
    _, records = run(settings(meta_turns=40, batch_size=1, eval_every=40))
    assert success(records, 40) == 1.0 and len({ids(records, turn, "batch")[0] for turn in range(41)}) == 41
    _, records = run(settings(meta_turns=0))
    assert success(records, 0) == 0.0 and "turn/1/reflection" not in records


def test_evaluation_never_moves_the_training_cursor() -> None:
    with_eval, without = run(settings())[1], run(settings(eval_tasks=0))[1]
    batches = [key for key in without if "/batch/" in key]
    assert batches and all(with_eval[key] == without[key] for key in batches)
    assert not any("/eval/" in key for key in without)


def test_too_few_unseen_tasks_are_noticed_before_anything_is_played() -> None:
    asked: list[Request] = []

    def noting(request: Request) -> str:
        asked.append(request)
        return "Action: push"

    with pytest.raises(TasksExhausted, match="need 16 unseen tasks, and .* holds 10.*wrap"):
        run(settings(eval_tasks=0), toy.doors(count=10), actor=noting)
    assert not asked
    _, records = run(settings(eval_tasks=0, when_exhausted="wrap"), toy.doors(count=10))
    assert len([key for key in records if "/batch/" in key]) == 16


def test_an_unchanged_prompt_is_an_outcome_that_is_counted(tmp_path: Path, doors: None) -> None:
    asyncio.run(run_ict(settings(meta_turns=4, batch_size=6), tmp_path))
    results = load_results(tmp_path)
    assert results.outcomes == {"improved": 2, "unchanged": 2}
    assert not any("Failed reflections" in notice for notice in notices(results))


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [("I think all is well.", "no-section"), ("IMPROVED PROMPT:\n", "empty"), ("IMPROVED PROMPT:\na\x00b", "error")],
)
def test_a_reflection_without_a_usable_prompt_keeps_the_current_one(reply: str, outcome: str) -> None:
    loop, records = run(settings(meta_turns=1, system_prompt="oak opens to pull"), reflector=lambda request: reply)
    record = records["turn/1/reflection"]
    assert (record["outcome"], record["prompt"], record["reply"]) == (outcome, "oak opens to pull", reply)
    assert loop.env.prompt == "oak opens to pull" and success(records, 1) == 0.5


def test_a_broken_reflector_is_an_outcome_and_not_a_crash() -> None:
    def broken(request: Request) -> str:
        raise RuntimeError("no idea")

    _, records = run(settings(meta_turns=1), reflector=broken)
    assert records["turn/1/reflection"]["outcome"] == "error" and "no idea" in records["turn/1/reflection"]["cause"]


def test_s02_the_reflector_sees_the_terminal_text_of_its_batch_and_nothing_of_the_next() -> None:
    family = family_of(lambda task: ListEnv(f"START-{task.id}", [("FINAL-7", 0.0, True, False, {})]))
    seen: list[str] = []

    def noting(request: Request) -> str:
        seen.append(request.messages[-1].content)
        return "IMPROVED PROMPT:\nAgain."

    config = settings(family="Toy", batch_size=1, meta_turns=2, eval_tasks=2)
    _, records = run(config, family, actor=lambda request: "Action: x", reflector=noting)
    assert len(seen) == 2
    for turn, text in enumerate(seen):
        assert text.count("FINAL-7") == text.count("START-") == 1
        assert f"START-{ids(records, turn, 'batch')[0]}\n" in text
    assert records["turn/0/batch/0"]["episode"]["last_observation"] == "FINAL-7"


def test_s19_three_rewrites_with_braces_reach_both_seats_byte_for_byte() -> None:
    odd = 'Say {"cmd": "go"}, {}, {0}, {, %s, $x, {{y}} <<< >>> \\n \u2028 🗝️'
    heard: list[str] = []
    shown: list[str] = []

    def acting(request: Request) -> str:
        heard.extend(m.content for m in request.messages if m.role == "system")
        return "Action: push"

    def reflecting(request: Request) -> str:
        shown.append(request.messages[-1].content)
        return f"ANALYSIS:\n{{}}\n\nIMPROVED PROMPT:\n{odd}{len(shown)}"

    run(settings(eval_tasks=0), actor=acting, reflector=reflecting)
    assert list(dict.fromkeys(heard)) == [odd + str(number) for number in (1, 2, 3)]
    assert odd + "1" in shown[1] and odd + "2" in shown[2]


def test_s38_a_batch_read_from_the_cache_shows_the_reflector_the_same(tmp_path: Path) -> None:
    asked: list[Request] = []

    def scored(mode: str, **changes: Any) -> list[Request]:
        """Runs the loop with a cached actor; what the reflector is asked is never cached."""
        shown: list[Request] = []

        def reflecting(request: Request) -> str:
            shown.append(request)
            return toy.reflector(request)

        def acting(request: Request) -> str:
            asked.append(request)
            return toy.actor(request)

        store = ReplyStore(tmp_path / "replies.sqlite", mode)  # type: ignore[arg-type]
        model = chat.load(chat.scripted(acting, id="toy"), cache=store, cache_mode=mode)  # type: ignore[arg-type]
        run(settings(batch_size=3, **changes), actor=model, reflector=reflecting)
        assert len(store) == len(set(map(repr, asked)))
        store.close()
        return shown

    fresh = scored("write")
    paid = len(asked)
    assert paid > 20 and len(fresh) == 3
    assert scored("replay-only") == fresh and len(asked) == paid
    assert all("Nothing. A sign says" in request.messages[-1].content for request in fresh[:1])
    for other in ({"seed": 1}, {"system_prompt": "Knock."}):  # another task, seed or prompt never hits
        with pytest.raises(CacheMiss):
            scored("replay-only", **other)
    # Entries in a form that this version does not know are misses: asked again, never read as something else.
    with sqlite3.connect(tmp_path / "replies.sqlite") as connection:
        connection.execute("UPDATE replies SET reply = ?", ('{"text": "push", "score": 1.0}',))
    connection.close()
    with pytest.raises(CacheMiss):
        scored("replay-only")
    assert scored("write") == fresh and len(asked) == 2 * paid


def test_s16_too_many_failures_stop_the_run_and_leave_it_resumable(
    tmp_path: Path, doors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(actor="python:tests.support.doors:actor", max_failures=0.25)
    real = toy.actor

    def failing(request: Request) -> str:
        if "is of iron" in request.messages[-1].content and len(request.messages) > 1:
            raise RuntimeError("the server is gone")
        return real(request)

    asyncio.run(run_ict(config, tmp_path / "whole"))
    monkeypatch.setattr(toy, "actor", failing)  # fails once a system prompt is there: in the second batch
    with pytest.raises(TooManyFailures, match=r"of 8 episodes failed|of 4 episodes failed") as caught:
        asyncio.run(run_ict(config, tmp_path / "run"))
    assert "the server is gone" in str(caught.value) and len(caught.value.episodes) in (4, 8)
    stopped = (tmp_path / "run" / RECORDS).read_bytes()
    whole = (tmp_path / "whole" / RECORDS).read_bytes()
    assert stopped and whole.startswith(stopped) and len(stopped) < len(whole)
    monkeypatch.setattr(toy, "actor", real)
    asyncio.run(run_ict(config, tmp_path / "run", resume=True))
    assert (tmp_path / "run" / RECORDS).read_bytes() == whole


def test_events_tell_what_was_played_and_what_was_only_read() -> None:
    told: list[Event] = []
    records = memory_records()
    run(settings(meta_turns=1), records=records, on_event=told.append)
    phases = [(e.kind, e.phase) for e in told if e.kind not in ("start", "episode")]
    assert phases == [
        *(("batch", "turn/0/batch"), ("eval", "turn/0/eval")),
        *(("reflection", "turn/1/reflection"), ("batch", "turn/1/batch"), ("eval", "turn/1/eval")),
    ]
    assert sum(e.kind == "episode" for e in told) == 2 * 4 + 2 * 8
    assert [e.phase for e in told if e.kind == "start"] == [p for k, p in phases if k != "reflection"]
    told.clear()
    run(settings(meta_turns=1), records=records, on_event=told.append)
    assert [(e.kind, e.phase) for e in told] == phases and all(e.seconds == 0.0 for e in told)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"family": "Nowhere"}, UnknownName),
        ({"split": "test"}, UnknownName),
        ({"task_types": ("steel",)}, UnknownName),
        ({"eval_split": "test"}, UnknownName),
        ({"eval_types": ("steel",)}, UnknownName),
        ({"eval_tasks": 61}, BadInput),
        ({"batch_size": 61}, BadInput),
        ({"actor": "gpt"}, BadInput),
        ({"reflector": "openai:m?api_key=sk-1"}, BadInput),
        ({"system_prompt": "a\x00b"}, BadInput),
        ({"system_prompt": "x" * 100_001}, BadInput),
        ({"max_steps": 0}, BadInput),
        ({"max_failures": 1.5}, BadInput),
        ({"meta_turns": 100}, TasksExhausted),
    ],
)
def test_unusable_settings_make_no_folder(
    tmp_path: Path, doors: None, changes: dict[str, Any], error: type[MetaGymError]
) -> None:
    with pytest.raises(error):
        asyncio.run(run_ict(settings(**changes), tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {"hosts": "cloud"},
        {"concurrency": 0},
        {"cache_mode": "maybe"},
        {"cache_mode": "read"},
        {"cache_mode": "replay-only"},
        {"resume": True, "overwrite": True},
    ],
)
def test_unusable_arguments_make_no_folder(tmp_path: Path, doors: None, arguments: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        asyncio.run(run_ict(settings(), tmp_path / "run", **arguments))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"accept": "maybe"},
        {"batch_size": 0},
        {"meta_turns": -1},
        {"eval_tasks": -1},
        {"eval_every": 0},
        {"seed": -1},
        {"seed": 0.5},
    ],
)
def test_settings_out_of_range_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        settings(**changes)


def test_settings_go_through_json_and_unknown_ones_are_named() -> None:
    config = settings(task_types=("oak",), family_options={"a": 1}, seed=0)
    assert RunConfig.from_json(config.to_json()) == config
    with pytest.raises(BadInput, match="colour"):
        RunConfig.from_json({**config.to_json(), "colour": 1})
