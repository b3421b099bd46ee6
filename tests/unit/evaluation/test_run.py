"""Records do not depend on batches, concurrency, hosts or kills; failures at the end are not recorded."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from metagym import Episode, Status
from metagym.episodes import Repair
from metagym.errors import BadInput, TooManyFailures
from metagym.evaluation.benchmarks import Benchmark, Sampling
from metagym.evaluation.run import Entrant, RunSettings, evaluate, seat_of
from metagym.evaluation.tasks import prepare
from metagym.evaluation.writing import MAX_RUN, split_key
from metagym.families import Cleaned
from metagym.journal import Journal

pytestmark = pytest.mark.usefixtures("quiz")

HALF, LATE = Entrant("half", "python:tests.support.quiz:half"), Entrant("half", "python:tests.support.quiz:late")
SUMS = Benchmark("sums", "Quiz", samples=4)


def records(folder: Path, entrants: Any = (HALF,), benchmarks: Any = (SUMS,), seed: int = 0, **options: Any) -> bytes:
    """The bytes of the journal."""
    settings = dataclasses.replace(options.pop("settings", RunSettings()), seed=seed)
    with Journal.open(folder / "records.jsonl", "w") as journal:
        asyncio.run(evaluate(list(entrants), [prepare(b) for b in benchmarks], settings, journal, **options))
    return (folder / "records.jsonl").read_bytes()


def episodes(folder: Path) -> list[Episode]:
    with Journal.open(folder / "records.jsonl") as journal:
        found = [value for _, value in journal.records() if value["kind"] == "episode"]
    return [Episode.from_json(value["episode"]) for value in found]


def test_equal_bytes_for_any_batch_concurrency_and_host(tmp_path: Path) -> None:
    made = []
    for number, (entrant, options) in enumerate(
        [
            (HALF, {"concurrency": 1}),
            (HALF, {"concurrency": 8}),
            (HALF, {"batch": 1}),
            (HALF, {"batch": 8, "concurrency": 3}),
            (LATE, {"concurrency": None}),  # episodes end in another order than they began
            (LATE, {"batch": 7, "concurrency": 5, "hosts": "inline"}),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        made.append(records(folder, [entrant], **options))
    assert len({one.replace(b"quiz:late", b"quiz:half") for one in made}) == 1 and made[0].count(b"\n") == 2 + 48
    played = episodes(tmp_path / "0")
    assert len({e.seed for e in played}) == 48 and 0 < sum(bool(e.success) for e in played) < 48


def test_a_resumed_evaluation_plays_only_what_has_no_record(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    whole.mkdir(), part.mkdir()
    expected = records(whole)
    for cut in (1, 2, 20, 48):
        (part / "records.jsonl").write_bytes(b"".join(expected.splitlines(keepends=True)[:cut]))
        assert records(part, batch=5) == expected
    called: list[Any] = []
    assert records(part, on_progress=called.append) == expected
    assert [p.read for p in called] == [48]  # nothing was played


def test_entrants_and_benchmarks_share_seeds_and_runs_of_other_seeds_do_not(tmp_path: Path) -> None:
    easy = Benchmark("easy", "Quiz", types=("easy",), samples=4)
    other = Entrant("again", HALF.model)
    records(tmp_path, [HALF, other], [SUMS, easy])
    with Journal.open(tmp_path / "records.jsonl") as journal:
        found = {split_key(key): value["episode"] for key, value in journal.records() if split_key(key)}
    key = next(name[2] for name in found if name and name[1] == "easy")
    same = [found[who, what, key, 2] for who in ("half", "again") for what in ("sums", "easy")]
    assert all(one == same[0] for one in same)
    (tmp_path / "seeded").mkdir()
    records(tmp_path / "seeded", seed=1)
    assert {e.seed for e in episodes(tmp_path / "seeded")}.isdisjoint(one["seed"] for one in found.values())


def test_a_failed_episode_is_recorded_as_unscored(tmp_path: Path) -> None:
    records(tmp_path, [Entrant("flaky", "python:tests.support.quiz:flaky")])
    lost = [e for e in episodes(tmp_path) if not e.scored]
    assert len(lost) == 4 and {e.task.id for e in lost} == {"test-3"} and "odd sum" in lost[0].cause


def test_a_dead_model_stops_the_run_and_leaves_no_failure_behind(tmp_path: Path) -> None:
    with pytest.raises(TooManyFailures, match=r"sums, half: \d+ of 48 episodes failed.*no such model today"):
        records(tmp_path, [dataclasses.replace(HALF, model="python:tests.support.quiz:dead")], batch=8)
    assert not episodes(tmp_path)
    assert len(records(tmp_path).splitlines()) == 50  # the model is back: everything is played


def test_many_failures_in_a_row_stop_a_large_benchmark(tmp_path: Path) -> None:
    big = Benchmark("big", "Quiz", {"count": 200})
    dead = Entrant("dead", "python:tests.support.quiz:dead")
    with pytest.raises(TooManyFailures, match=f"{MAX_RUN} in a row"):
        records(tmp_path, [dead], [big], settings=RunSettings(max_failures=1.0), batch=MAX_RUN)
    assert not episodes(tmp_path)


def test_failures_within_the_limit_are_recorded_in_their_places(tmp_path: Path) -> None:
    broken = Benchmark("sums", "Quiz", {"broken": True}, samples=2)
    records(tmp_path, [Entrant("right", "python:tests.support.quiz:right")], [broken], batch=3)
    states = [e.status for e in episodes(tmp_path)]
    assert len(states) == 24 and states.count(Status.ERROR) == 6 and states[-1] is Status.ERROR


def test_names_and_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="different names"):
        records(tmp_path, [HALF, HALF])
    with pytest.raises(BadInput, match="name of a model"):
        Entrant("a/b", "random")
    with pytest.raises(BadInput):
        Entrant("a", "no such scheme")
    with pytest.raises(BadInput, match="max_failures"):
        RunSettings(max_failures=2)


@pytest.mark.parametrize("clean", [True, False])
def test_commands_are_cleaned_only_where_that_is_asked_for(tmp_path: Path, clean: bool) -> None:
    plain = prepare(SUMS)
    zero = dataclasses.replace(plain.family, clean=lambda command, legal: Cleaned("0", Repair.REPAIRED))
    with Journal.open(tmp_path / "records.jsonl", "w") as journal:
        prepared = [dataclasses.replace(plain, family=zero)]
        asyncio.run(evaluate([HALF], prepared, RunSettings(clean=clean), journal))
    assert ({turn.action for e in episodes(tmp_path) for turn in e.turns} == {"0"}) is clean


def test_steps_history_and_admissible_commands_are_the_benchmark_s(tmp_path: Path) -> None:
    asked = Benchmark("lake", "FrozenLake", limit=2, max_steps=3, history=0, show_admissible=False)
    records(tmp_path, [Entrant("r", "random")], [asked])
    assert {e.steps for e in episodes(tmp_path)} <= {1, 2, 3}
    seat = seat_of(prepare(asked), "openai:m")
    assert (seat.history, seat.show_admissible) == (0, False)


def test_what_a_spec_fixes_wins_over_the_benchmarks_sampling() -> None:
    prepared = prepare(dataclasses.replace(SUMS, sampling=Sampling(0.6, 8192, top_p=0.95, top_k=20)))
    seat = seat_of(prepared, "openai:m?temperature=0&top_p=0.5")
    assert (seat.temperature, seat.max_tokens, seat.top_p, seat.top_k) == (0.0, 8192, None, 20)
    seat = seat_of(prepared, "python:tests.support.quiz:half")
    assert (seat.temperature, seat.top_p) == (0.6, 0.95)


def test_keys_hold_whatever_a_task_key_holds() -> None:
    assert split_key('eval/m/b/Fam/id/with/slash#3?{"x": "a/7"}/12') == (
        "m",
        "b",
        'Fam/id/with/slash#3?{"x": "a/7"}',
        12,
    )
    assert split_key("tasks/b") is None and split_key("eval/m/b/x") is None and split_key("eval/m/b/x/y") is None
