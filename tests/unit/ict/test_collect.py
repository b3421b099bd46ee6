"""Training rows: complete, strict, reproducible, and enough to compute the replay reward exactly."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import metagym
from metagym import Task
from metagym.chat import Message, Request
from metagym.episodes import mean_return
from metagym.errors import MetaGymError, StoreError, TasksExhausted
from metagym.ict.config import RunConfig
from metagym.ict.env import ICTEnv
from metagym.ict.loop import Event
from metagym.ict.reflector import INSTRUCTIONS
from metagym.runs.folder import RECORDS
from metagym.runs.ict import collect_ict
from metagym.runs.results import load_results
from metagym.strictjson import strict_json
from tests.support import doors as toy

FIELDS = {
    *("id", "meta_episode", "turn", "family", "family_options", "system_prompt", "observation", "messages", "tasks"),
    *("actor", "actor_seed", "seat", "clean", "max_steps", "mean_return", "success_rate"),
}


WANDERING = "As soon as you see a target object, take it. Go to the destination and put it there."
"""Solves some games by luck: another seed of the actor would show."""


def settings(**changes: Any) -> RunConfig:
    return RunConfig(**{"family": "Doors", "batch_size": 5, "meta_turns": 3, **changes})


def collect(folder: Path, meta_episodes: int = 3, config: RunConfig | None = None, **more: Any) -> list[dict[str, Any]]:
    rows = folder / "rows.jsonl"
    count, card = asyncio.run(collect_ict(config or settings(), meta_episodes, folder / "run", rows, **more))
    read = [strict_json(line) for line in rows.read_text("utf-8").splitlines()]
    assert len(read) == count and card == folder / "rows.jsonl.md"
    return read


def test_a_row_per_meta_turn_holds_what_a_trainer_needs(tmp_path: Path, doors: None) -> None:
    rows = collect(tmp_path)
    assert len(rows) == 3 * 3 and len({row["id"] for row in rows}) == 9
    assert [(row["meta_episode"], row["turn"]) for row in rows] == [(m, t) for m in range(3) for t in range(3)]
    for row in rows:
        assert set(row) == FIELDS
        assert [message["role"] for message in row["messages"]] == ["system", "user"]
        assert row["messages"][0]["content"] == INSTRUCTIONS and row["messages"][1]["content"] == row["observation"]
        assert row["system_prompt"] in row["observation"] and len(row["tasks"]) == 5
        assert row["max_steps"] == 3 and row["mean_return"] == row["success_rate"]
    assert {row["system_prompt"] for row in rows if row["turn"] == 0} == {""}
    assert all(row["system_prompt"] for row in rows if row["turn"] > 0)
    assert len({row["actor_seed"] for row in rows}) == 3  # one per meta-episode


def test_a_row_reproduces_its_return_and_replays_a_candidate(tmp_path: Path, doors: None) -> None:
    def undecided(request: Request) -> str:
        """Its answer depends on the sampling seed as well: a wrong seed would show."""
        text = toy.actor(request)
        return text if "opens to" in str(request.messages[0].content) else f"Action: {toy.ACTIONS[request.seed % 4]}"

    toy_actor, toy.undecided = toy.actor, undecided  # type: ignore[attr-defined]
    try:
        config = settings(actor="python:tests.support.doors:undecided", batch_size=8)
        rows = collect(tmp_path, 2, config)
    finally:
        del toy.undecided  # type: ignore[attr-defined]
    assert toy.actor is toy_actor and len({row["mean_return"] for row in rows}) > 2
    for row in rows:
        tasks = [Task.from_json(task) for task in row["tasks"]]
        again = metagym.play(tasks, undecided, system_prompt=row["system_prompt"], seed=row["actor_seed"])
        assert mean_return(again) == row["mean_return"]
    # The replay reward of the meta-environment is the same number, for any candidate prompt.
    row = rows[0]
    candidate = "oak opens to pull"
    replayed = metagym.play(
        [Task.from_json(task) for task in row["tasks"]], undecided, system_prompt=candidate, seed=row["actor_seed"]
    )
    env = ICTEnv("Doors", actor=undecided, batch_size=8, reward="replay")
    env.reset(seed=metagym.seeding.derive(0, "meta-episode", 0))
    assert env.step(candidate)[1] == mean_return(replayed) > row["mean_return"]


def test_rows_of_the_stand_ins_replay_as_the_card_says(tmp_path: Path) -> None:
    config = RunConfig(batch_size=4, meta_turns=3, eval_tasks=0, seed=5, max_steps=30, system_prompt=WANDERING)
    rows = collect(tmp_path, 2, config)
    assert len({row["mean_return"] for row in rows}) > 1
    for row in rows:
        again = metagym.play(
            [Task.from_json(task) for task in row["tasks"]],
            row["actor"],
            system_prompt=row["system_prompt"],
            seed=row["actor_seed"],
            max_steps=row["max_steps"],
            seat=metagym.ActorSettings(**row["seat"]),
        )
        assert mean_return(again) == row["mean_return"]


def test_rows_are_reproducible_and_seeds_differ(tmp_path: Path, doors: None) -> None:
    files = []
    for number, (seed, places) in enumerate([(0, {}), (0, {"hosts": "thread", "concurrency": 2}), (1, {})]):
        collect(tmp_path / str(number), 2, settings(seed=seed), **places)
        files.append((tmp_path / str(number) / "rows.jsonl").read_bytes())
    assert files[0] == files[1] != files[2]


def test_meta_episodes_do_not_depend_on_how_many_follow(tmp_path: Path, doors: None) -> None:
    assert collect(tmp_path / "a", 1) == collect(tmp_path / "b", 3)[:3]


def test_the_card_says_what_the_rows_are_and_what_they_must_not_be_used_for(tmp_path: Path, doors: None) -> None:
    rows = collect(tmp_path)
    card = (tmp_path / "rows.jsonl.md").read_text("utf-8")
    distinct = len({task["id"] for row in rows for task in row["tasks"]})
    assert f"{len(rows)} rows" in card and f"{distinct} distinct tasks" in card
    for text in ("Doors", "train", "iron, oak", "Scripted stand-ins", "Evaluation must use other tasks", "doors 1"):
        assert text in card
    settings_text = card.split("```json\n")[1].split("\n```")[0]
    assert RunConfig.from_json(strict_json(settings_text)["settings"]).seed == 0


def test_the_run_folder_is_readable_as_a_run(tmp_path: Path, doors: None) -> None:
    collect(tmp_path)
    results = load_results(tmp_path / "run")
    assert results.ended and len(results.played) == 3 * 4 * 5 and results.manifest["command"] == "ict collect"


def test_a_stopped_collection_goes_on_to_the_same_rows(
    tmp_path: Path, doors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(reflector="python:tests.support.doors:reflector")
    whole = collect(tmp_path / "whole", config=config)
    calls = 0

    def stops(event: Event) -> None:
        nonlocal calls
        calls += event.kind == "reflection"
        if calls == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(tmp_path / "part", config=config, on_event=stops)
    assert not (tmp_path / "part" / "rows.jsonl").exists()
    stopped = (tmp_path / "part" / "run" / RECORDS).read_bytes()
    asked: list[Request] = []
    real = toy.reflector

    def noting(request: Request) -> str:
        asked.append(request)
        return real(request)

    monkeypatch.setattr(toy, "reflector", noting)
    assert collect(tmp_path / "part", config=config, resume=True) == whole
    assert len(asked) == 9 - 5
    records = (tmp_path / "part" / "run" / RECORDS).read_bytes()
    assert records.startswith(stopped) and records == (tmp_path / "whole" / "run" / RECORDS).read_bytes()


def test_rows_that_cannot_be_written_are_noticed_before_anything_is_played(tmp_path: Path, doors: None) -> None:
    (tmp_path / "file").write_text("x")
    for rows in (tmp_path / "file" / "rows.jsonl", tmp_path, Path("/proc/nowhere/rows.jsonl")):
        with pytest.raises(StoreError, match="rows cannot be written to"):
            asyncio.run(collect_ict(settings(), 2, tmp_path / "run", rows))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("changes", [{"split": "test"}, {"batch_size": 61}, {"system_prompt": "\x00"}, {"actor": "x"}])
def test_unusable_settings_make_no_folder(tmp_path: Path, doors: None, changes: dict[str, Any]) -> None:
    with pytest.raises(MetaGymError):
        collect(tmp_path, config=settings(**changes))
    assert not (tmp_path / "run").exists()


def test_each_meta_episode_has_the_split_to_itself(tmp_path: Path, doors: None) -> None:
    rows = collect(tmp_path, 4, settings(batch_size=15))  # 4 batches of 15 use up the 60 tasks each time
    for number in range(4):
        seen = [task["id"] for row in rows if row["meta_episode"] == number for task in row["tasks"]]
        assert len(seen) == len(set(seen)) == 45
    with pytest.raises(TasksExhausted):
        collect(tmp_path / "more", 1, settings(batch_size=16))


def test_messages_are_the_request_that_the_base_reflector_got(
    tmp_path: Path, doors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Message, ...]] = []
    real = toy.reflector

    def noting(request: Request) -> str:
        asked.append(request.messages)
        return real(request)

    monkeypatch.setattr(toy, "reflector", noting)
    rows = collect(tmp_path, config=settings(reflector="python:tests.support.doors:reflector"))
    assert [[m["content"] for m in row["messages"]] for row in rows] == [[m.content for m in got] for got in asked]
    assert json.dumps(rows, allow_nan=False)
