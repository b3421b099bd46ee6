from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagym import Episode, Status, Task, Turn, Usage
from metagym.episodes import Repair, mean_return, success_rate
from metagym.errors import BadInput

text = st.text(max_size=20)
turns = st.builds(
    Turn,
    observation=text,
    reply=st.none() | text,
    action=text,
    reward=st.floats(-10, 10),
    terminated=st.booleans(),
    truncated=st.booleans(),
    repair=st.sampled_from(Repair),
    absence=st.none() | st.just("length"),
    admissible=st.none() | st.lists(text, max_size=3).map(tuple),
)
usages = st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), cost=st.floats(0, 9))
episodes = st.builds(
    Episode,
    task=st.builds(Task, st.just("F"), text.filter(bool)),
    turns=st.lists(turns, max_size=3).map(tuple),
    last_observation=text,
    ret=st.floats(-10, 10),
    success=st.sampled_from([None, True, False]),
    status=st.sampled_from(Status),
    cause=text,
    seed=st.integers(0, 2**62),
    usage=usages,
    seconds=st.floats(0, 9),
)


def episode(ret: float, success: bool | None = None, status: Status = Status.OK) -> Episode:
    return Episode(Task("F", "x"), (), "", ret, success, status)


@given(episodes)
def test_json_and_pickle_round_trip(one: Episode) -> None:
    assert Episode.from_json(json.loads(json.dumps(one.to_json(), allow_nan=False))) == one
    assert pickle.loads(pickle.dumps(one)) == one


def test_seconds_are_no_part_of_the_record() -> None:
    assert "seconds" not in episode(1.0).to_json()


def test_what_is_no_episode_is_refused() -> None:
    with pytest.raises(BadInput, match="not an episode"):
        Episode.from_json({"task": {"family": "F", "id": "x"}})


def test_unmeasured_is_never_zero() -> None:
    batch = [
        episode(1.0, True),
        episode(0.0, False),
        episode(0.0, None, Status.ERROR),
        episode(0.0, None, Status.UNSCORED),
    ]
    assert mean_return(batch) == 0.5
    assert success_rate(batch) == 0.5
    assert mean_return(batch[2:]) is None
    assert success_rate(batch[2:]) is None
    assert [e.scored for e in batch] == [True, True, False, False]


def test_s11_the_return_keeps_every_turns_reward() -> None:
    rewards = [0.2, 0.0, -0.1]
    made = tuple(Turn("o", "r", "a", reward, False, False) for reward in rewards)
    one = Episode(Task("F", "x"), made, "", sum(rewards), None, Status.OK)
    assert [t.reward for t in Episode.from_json(one.to_json()).turns] == rewards
    assert one.ret == pytest.approx(0.1)


@given(st.lists(usages, max_size=4))
def test_usage_adds_up(parts: list[Usage]) -> None:
    total = Usage.total(parts)
    assert total.calls == sum(u.calls for u in parts)
    assert total.cost == pytest.approx(sum(u.cost for u in parts))
    assert Usage.from_json(total.to_json()) == total


def test_usage_is_estimated_if_a_part_is() -> None:
    assert (Usage(calls=1, estimated=True) + Usage(calls=2)) == Usage(calls=3, estimated=True)
