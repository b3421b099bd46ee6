"""What a real checkout holds, what reaches its gold states, and what does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from metagym import PlaySettings, play
from metagym_envs.acebench.entries import KINDS, Entry
from metagym_envs.acebench.family import ACEBench
from metagym_envs.bfcl.calls import read_calls
from tests.envs.acebench import deriving, real

pytestmark = pytest.mark.slow


def of(kind: str, *numbers: int) -> list[str]:
    return [f"agent_{kind}_{number}" for number in numbers]


UNREACHABLE = of("multi_step", 0, 1)


def solved(said: Callable[[Entry], list[str]], score: str = "end_to_end") -> list[str]:
    """The ids of the tasks that are solved by what is said in them."""
    return [one.id for one in real.tasks() if real.ended(one, said(one))["scores"][score] == 1.0]


def solution(entry: Entry) -> list[str]:
    return deriving.sent(deriving.solution(real.checkout(), entry))


def test_what_the_data_hold() -> None:
    tasks, versions = real.tasks(), ACEBench(path=real.checkout()).versions
    assert versions["tasks"] == {"multi_step": 20, "multi_turn": 30} and versions["unknown_classes"] == {}
    assert versions["renamed_classes"] == {
        **dict.fromkeys(UNREACHABLE, {"ReminderAPI": "ReminderApi"}),
        "agent_multi_turn_7": {"Reminderpi": "ReminderApi"}, "agent_multi_turn_9": {"BaseAPI": "BaseApi"},
    }  # fmt: skip
    assert list(versions["unreachable"]) == UNREACHABLE
    assert not any(one.unjudged for one in tasks) and all(way for one in tasks for way in one.milestones)


def test_48_gold_states_are_reached_and_the_official_scorer_takes_all_50() -> None:
    assert solved(solution) == [one.id for one in real.tasks() if one.id not in UNREACHABLE]
    assert len(solved(solution, "official_end_to_end")) == 50
    for one in real.tasks()[:2]:  # what stays wrong is of the class that is officially left out
        assert real.ended(one, solution(one))["faults"] == ["ReminderApi.reminder_list.3 is another"]


def test_a_solution_without_its_last_call_is_none() -> None:
    assert solved(lambda one: solution(one)[:-1]) == []
    assert solved(lambda one: solution(one)[:-1], "official_end_to_end") == UNREACHABLE  # which looks past the reminder


def test_one_task_is_officially_solved_by_any_call() -> None:
    def look(one: Entry) -> list[str]:
        return ["[get_flight_details()]" if "Travel" in one.classes else "[login_device()]"]

    assert solved(look) == [] and solved(look, "official_end_to_end") == ["agent_multi_turn_7"]


def test_milestones_as_they_are_written_solve_31() -> None:
    assert solved(lambda one: list(one.milestones[0])) == [
        *of("multi_step", 2, 3, *range(6, 12), 18, 19), *of("multi_turn", *range(6), 7, *range(16, 30)),
    ]  # fmt: skip
    unread = [one.id for one in real.tasks() if not all(map(read_calls, one.milestones[0]))]
    assert unread == [*of("multi_step", 0, 1, 4, 5), *of("multi_turn", *range(8, 16))]


@pytest.mark.parametrize(("stand_in", "reached"), [("milestones", [9, 22]), ("noop", [0, 0])])
def test_records_do_not_depend_on_concurrency(stand_in: str, reached: list[int]) -> None:
    family = ACEBench(path=real.checkout(), stand_in=stand_in)
    tasks = list(family.task_set("test")) if real.tasks() else []
    runs = [play(tasks, "rules", family=family, settings=PlaySettings(concurrency=n)) for n in (1, 8)]
    one, many = ([{**e.to_json(), "seconds": None} for e in run] for run in runs)
    assert one == many and {e.status.value for e in runs[0]} == {"ok"}
    assert [sum(e.success is True for e in runs[0] if e.task.type == kind) for kind in KINDS] == reached
    if stand_in == "noop":
        assert all(set(e.info["scores"].values()) == {0.0} for e in runs[0])
