from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym import Task, TaskSet, TaskStream
from metagym.errors import BadInput, NoTasks, TasksExhausted, UnknownName
from tests.support.worlds import tasks_named


def test_a_task_is_frozen_hashable_and_survives_pickle_and_json() -> None:
    task = Task("F", "x/1", "t", "train", 3, {"size": [1, 2]})
    for again in (pickle.loads(pickle.dumps(task)), Task.from_json(task.to_json()), copy.deepcopy(task)):
        assert again == task and hash(again) == hash(task) and again.key == task.key
    with pytest.raises(AttributeError):
        task.id = "y"  # type: ignore[misc]
    with pytest.raises(TypeError):
        task.params["size"] = 1  # type: ignore[index]


def test_keys_tell_seed_and_parameters_apart() -> None:
    keys = {Task("F", "x").key, Task("F", "x", seed=1).key, Task("F", "x", params={"a": 1}).key, Task("G", "x").key}
    assert len(keys) == 4


@pytest.mark.parametrize("bad", [{"id": ""}, {"id": 3}, {"id": "x", "seed": -1}, {"id": "x", "seed": None}])
def test_bad_tasks_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        Task("F", **bad)  # type: ignore[arg-type]


def test_json_with_unknown_fields_is_refused() -> None:
    with pytest.raises(BadInput, match="not a task"):
        Task.from_json({"family": "F", "id": "x", "colour": "red"})


def test_an_empty_set_is_never_valid() -> None:
    with pytest.raises(NoTasks, match="F/train"):
        TaskSet([], "F/train")


def test_ids_are_unique() -> None:
    with pytest.raises(BadInput, match="'x' twice"):
        TaskSet([Task("F", "x"), Task("F", "x", seed=1)])


def test_types_select_and_unknown_ones_are_named() -> None:
    tasks = tasks_named("F", 10, types=("a", "b"))
    assert tasks.types == ("a", "b")
    assert {t.type for t in tasks.of_types(["b"])} == {"b"}
    assert tasks.of_types(None) is tasks
    with pytest.raises(UnknownName, match="'c'; it has a, b"):
        tasks.of_types(["c"])
    with pytest.raises(NoTasks):
        tasks.of_types([])
    with pytest.raises(UnknownName):
        tasks.by_id("nowhere")


def test_a_sample_is_spread_over_types_and_repeatable() -> None:
    tasks = tasks_named("F", 40, types=("a", "b", "b", "b"))
    picked = tasks.sample(10, seed=0)
    assert picked == tasks.sample(10, seed=0) != tasks.sample(10, seed=1)
    assert [t.type for t in picked].count("a") == 5
    assert len(set(picked)) == 10
    with pytest.raises(BadInput):
        tasks.sample(41, seed=0)


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(0, 1000), st.integers(80, 120))
def test_unseen_means_unseen_for_every_batch_size(size: int, seed: int, count: int) -> None:
    stream = TaskStream(tasks_named("F", count), seed)
    seen = [task.id for _ in range(10) for task in stream.take(size)]
    assert len(set(seen)) == len(seen)


@given(st.integers(1, 12), st.integers(0, 99), st.integers(1, 6))
def test_wrapping_repeats_no_task_within_a_batch_nor_before_the_pass_is_over(size: int, seed: int, rounds: int) -> None:
    tasks = tasks_named("F", 12)
    stream = TaskStream(tasks, seed, "wrap")
    drawn = []
    for _ in range(rounds):
        batch = [t.id for t in stream.take(size)]
        assert len(set(batch)) == size
        drawn += batch
    for start in range(0, len(drawn) - 11, 12):
        counts = [drawn[: start + 12].count(t.id) for t in tasks]
        assert max(counts) - min(counts) <= 1


def test_running_out_is_an_error_that_consumes_nothing() -> None:
    stream = TaskStream(tasks_named("F", 7), 0)
    stream.take(5)
    with pytest.raises(TasksExhausted, match="3 unseen tasks wanted, 2 left of 7"):
        stream.take(3)
    assert len(stream.take(2)) == 2


def test_a_batch_larger_than_the_set_cannot_be_distinct() -> None:
    with pytest.raises(TasksExhausted, match="too few for a batch of 8"):
        TaskStream(tasks_named("F", 7), 0, "wrap").take(8)


@given(st.integers(0, 5), st.integers(0, 50))
def test_a_restored_cursor_continues(before: int, seed: int) -> None:
    stream = TaskStream(tasks_named("F", 12), seed, "wrap")
    for _ in range(before):
        stream.take(5)
    other = TaskStream(tasks_named("F", 12), seed, "wrap")
    other.restore(stream.state())
    assert [stream.take(5) for _ in range(4)] == [other.take(5) for _ in range(4)]


def test_restoring_another_seed_is_refused() -> None:
    with pytest.raises(BadInput):
        TaskStream(tasks_named("F", 5), 1).restore(TaskStream(tasks_named("F", 5), 2).state())


def test_held_back_tasks_never_come() -> None:
    stream = TaskStream(tasks_named("F", 6), 0, "wrap")
    stream.hold_back(["train-0", "train-1"])
    assert {t.id for _ in range(5) for t in stream.take(2)} == {f"train-{i}" for i in range(2, 6)}


def test_putting_back_undoes_taking() -> None:
    stream = TaskStream(tasks_named("F", 9), 0)
    batch = stream.take(4)
    stream.put_back(batch)
    assert stream.take(4) == batch


def test_a_stream_walks_a_task_set_and_nothing_else() -> None:
    with pytest.raises(BadInput, match=r"TaskStream\(TaskSet\(tasks\), seed\)"):
        TaskStream([Task("F", "x")], 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, -1, 2.0, "2", True, None])
def test_numbers_of_tasks_are_whole_and_positive(count: object) -> None:
    tasks = tasks_named("F", 9)
    for refused in (lambda: TaskStream(tasks, 0).take(count), lambda: tasks.sample(count, 0)):  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="the number of tasks"):
            refused()


def test_numbers_of_numpy_count_tasks() -> None:
    tasks = tasks_named("F", 9)
    assert TaskStream(tasks, np.int64(3)).take(np.int64(2)) == TaskStream(tasks, 3).take(2)  # type: ignore[arg-type]
    assert tasks.sample(np.int64(4), 0) == tasks.sample(4, 0)  # type: ignore[arg-type]


def test_task_types_that_are_no_list_are_refused() -> None:
    with pytest.raises(BadInput, match="task types are a list of names, got 5; F/train has a, b"):
        tasks_named("F", 9, types=("a", "b")).of_types(5)  # type: ignore[arg-type]
