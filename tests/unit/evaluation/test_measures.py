"""avg@k, pass@k, maj@k: against brute force, and with what is missing or unscored."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagym import Status, Task
from metagym.episodes import Episode, Turn
from metagym.errors import BadInput
from metagym.evaluation.measures import ladder, majority, measure, pass_at_k


def episode(task: Task, won: bool | None, status: Status = Status.OK, cause: str = "", **info: Any) -> Episode:
    turn = Turn("q", "a", "a", float(bool(won)), True, False)
    return Episode(task, (turn,), "", float(bool(won)), won, status, cause, info=info)


TASKS = [Task("Toy", f"t{n}", ("a", "b")[n % 2]) for n in range(4)]


@given(st.data())
def test_pass_at_k_is_the_share_of_all_choices_of_k_samples_with_a_right_one(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 9))
    outcomes = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    k = data.draw(st.integers(1, n))
    choices = list(itertools.combinations(outcomes, k))
    assert math.isclose(pass_at_k(n, sum(outcomes), k), sum(map(any, choices)) / len(choices), abs_tol=1e-12)


@given(st.integers(1, 60), st.data())
def test_pass_at_k_rises_with_k_from_the_mean_to_any(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    values = [pass_at_k(n, right, k) for k in range(1, n + 1)]
    assert math.isclose(values[0], right / n) and values[-1] == float(right > 0)
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(values))


@pytest.mark.parametrize("bad", [(3, 1, 0), (3, 1, 4), (3, 4, 1), (3, -1, 1), (0, 0, 1)])
def test_pass_at_k_refuses_what_is_out_of_range(bad: tuple[int, int, int]) -> None:
    with pytest.raises(BadInput, match="pass@k"):
        pass_at_k(*bad)


@given(st.lists(st.tuples(st.sampled_from(["x", "y", "z", None]), st.just(False)), min_size=1, max_size=8), st.data())
def test_majority_is_the_mean_over_all_ways_to_break_ties(votes: list[tuple[Any, bool]], data: st.DataObject) -> None:
    correct = data.draw(st.sampled_from(["x", "y", "z"]))
    votes = [(answer, answer == correct) for answer, _ in votes]
    counts = {name: sum(a == name for a, _ in votes) for name in "xyz"}
    most = max(counts.values())
    tied = [name for name, count in counts.items() if count == most] if most else []
    expected = tied.count(correct) / len(tied) if tied else 0.0
    assert majority(votes) == pytest.approx(expected)
    assert majority(data.draw(st.permutations(votes))) == pytest.approx(expected)


def test_majority_at_the_edges() -> None:
    assert majority([]) is None
    assert majority([(None, False), ("", False)]) == 0.0  # nobody answered
    assert majority([("7", True), (None, False), (None, False)]) == 1.0  # an absence does not vote
    assert majority([("7", True), ("7", False), ("8", False)]) == 0.5  # equal answers scored differently
    assert majority([(7, True), ("7", False)]) == 0.5  # 7 and "7" are two answers


def test_tasks_count_alike_and_unscored_samples_leave_their_tasks_figures() -> None:
    a, b, c, d = TASKS
    played = [
        *(episode(a, won) for won in (True, True, False)),
        *(episode(b, won) for won in (False, False, False)),
        episode(c, True),
        episode(c, None, Status.ERROR, "HostError: gone\nmore"),
        episode(c, None),
    ]
    told = measure(TASKS, 3, played)
    assert told.avg.value == pytest.approx((2 / 3 + 0 + 1) / 3) and told.avg.n == 3
    assert (told.tasks, told.episodes, told.missing, told.unscored) == (4, 9, 3, 2) and not told.complete
    assert dict(told.causes) == {"error: HostError: gone": 1, "success not known": 1}
    assert told.pass_at[3].value == 0.5 and (told.pass_at[3].n, told.pass_at[3].unscored) == (2, 1)
    assert told.pass_at[1].value == pytest.approx(told.avg.value)
    assert told.by_type["a"].value == pytest.approx((2 / 3 + 1) / 2)
    assert told.maj is None and not told.scores
    assert told.at_worst == pytest.approx((2 / 3 + 0 + 1 / 3) / 3)  # c's two as lost; d was not played at all
    assert measure(TASKS, 3, played[:7]).at_worst is None
    assert measure(TASKS, 3, played[::-1]).to_json() == told.to_json()  # in any order


def test_nothing_played_is_no_zero() -> None:
    told = measure(TASKS, 2, [])
    assert told.avg.value is None and told.returns.value is None and told.missing == 8 and told.backends == ()
    assert all(estimate.value is None for estimate in told.pass_at.values())


def test_one_sample_each_has_wilsons_interval() -> None:
    told = measure(TASKS, 1, [episode(task, n < 3) for n, task in enumerate(TASKS)])
    assert told.avg.value == 0.75 and told.avg.method.startswith("wilson")
    assert told.pass_at == {1: told.avg}


def test_final_answers_and_scores() -> None:
    a, b = TASKS[:2]
    played = [
        episode(a, True, final_answer="7", scores={"steps": 2, "validity": None}),
        episode(a, True, final_answer="7", scores={"steps": 4, "validity": 0.5}),
        episode(a, False, final_answer="8", scores={"steps": math.nan}),
        *(episode(b, won, final_answer=answer) for won, answer in ((True, "1"), (False, "2"), (False, None))),
    ]
    told = measure([a, b], 3, played)
    assert told.maj is not None and told.maj.value == 0.75  # right, and a tie of a right and a wrong answer
    assert told.scores["steps"].value == 3 and told.scores["steps"].unscored == 1
    assert told.scores["validity"].value == 0.5 and told.scores["validity"].unscored == 2


def test_without_any_final_answer_there_is_no_majority() -> None:
    assert measure(TASKS[:1], 1, [episode(TASKS[0], True, final_answer=None)]).maj is None  # e.g. programs


def test_foreign_tasks_and_surplus_samples_are_refused() -> None:
    with pytest.raises(BadInput, match="not of this benchmark"):
        measure(TASKS[:2], 1, [episode(TASKS[3], True)])
    with pytest.raises(BadInput, match="2 episodes, and 1 were asked for"):
        measure(TASKS, 1, [episode(TASKS[0], True), episode(TASKS[0], True)])


def test_the_ladder_of_k() -> None:
    assert ladder(1) == [1] and ladder(8) == [1, 2, 4, 8] and ladder(6) == [1, 2, 4, 6]
