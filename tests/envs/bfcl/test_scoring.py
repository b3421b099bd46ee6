"""Oracle and no-op in all four categories, what the checker catches, the metric by turns, the cut."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import metagym
from metagym_envs.bfcl import BFCL, package
from metagym_envs.bfcl.calls import read_calls, written
from metagym_envs.bfcl.checking import FORCED, RAISED, judge
from metagym_envs.bfcl.data import CATEGORIES, Entry, entries
from metagym_envs.bfcl.env import ToolConversation
from tests.envs.bfcl import playing


def right(category: str, policy: playing.Policy) -> int:
    return sum(playing.play(one, policy)["success"] for one in entries(category).values())


@pytest.mark.parametrize("category", CATEGORIES)
def test_the_answer_scores_200_of_200_twice_and_nothing_0(category: str) -> None:
    assert len(entries(category)) == 200
    assert [right(category, policy) for policy in (playing.answer, playing.nothing, playing.answer)] == [200, 0, 200]


@pytest.mark.parametrize("category", CATEGORIES)
def test_the_answer_call_by_call_scores_the_same(category: str) -> None:
    some = list(entries(category).values())[::8]
    assert all(playing.play(one, playing.one_by_one)["success"] for one in some)


@pytest.mark.parametrize("category", CATEGORIES)
def test_only_a_conversation_that_wants_nothing_at_its_end_survives_without_it(category: str) -> None:
    assert {one.id for one in entries(category).values() if not one.truth[-1]} == {f"{category}_167"}
    some = list(entries(category).values())[7::8]  # 167 is one of them
    assert [one.id for one in some if playing.play(one, playing.without_last_turn)["success"]] == [f"{category}_167"]


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_call_that_is_left_out_fails_the_conversation(category: str) -> None:
    chance = random.Random(category)
    failed = 0
    for one in list(entries(category).values())[::5]:
        turn = chance.choice([n for n, calls in enumerate(one.truth) if calls])
        gone = chance.randrange(len(one.truth[turn]))
        played = [[calls] if calls else [] for calls in one.truth]
        rest = one.truth[turn][:gone] + one.truth[turn][gone + 1 :]
        played[turn] = [rest] if rest else []
        failed += not judge(one, played).valid
    assert failed == 40


def test_threads_get_what_one_alone_gets() -> None:
    tasks = [one for category in CATEGORIES for one in list(entries(category).values())[::10]]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda one: playing.play(one, playing.answer), tasks))
    assert together == [playing.play(one, playing.answer) for one in tasks]
    assert all(info["success"] for info in together)


def test_an_entry_played_by_two_at_once_is_played_apart() -> None:
    one = playing.entry("multi_turn_base_0")
    left, right = ToolConversation(one), ToolConversation(one)
    left.reset(), right.reset()
    while True:
        step, other = left.step(playing.answer(left)), right.step(playing.answer(right))
        assert step == other
        if step[2]:
            break
    assert step[4]["success"]


@pytest.mark.parametrize("category", CATEGORIES)
def test_the_parts_agree_with_the_verdict(category: str) -> None:
    """A conversation is valid just if every turn with an answer holds by itself."""
    chance = random.Random(category)
    seen = set()
    for one in list(entries(category).values())[::4]:
        verdict = judge(one, [steps for steps in _changed(one, chance)])
        judged = [holds for holds, counts in zip(verdict.turns, verdict.judged, strict=True) if counts]
        assert verdict.valid == all(judged), one.id
        assert verdict.turn_validity == sum(judged) / len(judged)
        seen.add(verdict.valid)
    assert seen == {True, False}


def _changed(one: Entry, chance: random.Random) -> list[list[Any]]:
    """The answer with one turn doubled, emptied, or left as it is."""
    played = [[calls] if calls else [] for calls in one.truth]
    turn, how = chance.randrange(len(played)), chance.choice(("double", "empty", "same"))
    played[turn] = {"double": played[turn] * 2, "empty": [], "same": played[turn]}[how]
    return played


def test_turn_validity_tells_early_mistakes_from_none() -> None:
    one = next(e for e in entries("multi_turn_base").values() if len(e.truth) == 4 and all(e.truth))
    whole = playing.play(one, playing.answer)["scores"]
    late = playing.play(one, playing.without_last_turn)["scores"]
    assert (whole["turn_validity"], late["turn_validity"]) == (1.0, 0.75) and late["official"] == 0.0
    assert whole["abstention"] is None  # this conversation has no turn that wants no call
    held = playing.entry("multi_turn_miss_func_0")
    assert playing.play(held, playing.answer)["scores"]["abstention"] == 1.0
    assert BFCL().versions["unofficial_scores"] == ["turn_validity", "abstention"]


def test_the_21st_reply_with_calls_cuts_the_conversation_and_fails_it() -> None:
    one = playing.entry("multi_turn_base_1")
    env = ToolConversation(one)
    env.reset()
    assert env.limit == 20
    for number in range(21):
        _, _, terminated, truncated, info = env.step("[pwd()]")
        assert (terminated, truncated) == (False, number == 20)
    assert not info["success"] and info["verdict"]["error"] == FORCED and info["scores"]["turn_validity"] == 0.0
    env.reset()
    for _ in range(20):
        env.step("[pwd()]")
    assert env.step(playing.END)[2:4] == (False, False)


def test_tools_are_handed_over_with_the_packages_sentence() -> None:
    one = playing.entry("multi_turn_miss_func_0")
    (turn, tools), *_ = one.held.items()
    name = tools[0]["name"]
    env = ToolConversation(one)
    first, info = env.reset()
    assert f"- {name}(" not in first and name not in {tool["name"] for tool in info["tools"]}
    for _ in range(turn):
        observation, *_, info = env.step(playing.END)
    assert observation.endswith("I have updated some more functions you can choose from. What about now?")
    assert f"- {name}(" in observation and [tool["name"] for tool in info["tools"]] == [tool["name"] for tool in tools]


@pytest.mark.parametrize("category", CATEGORIES)
def test_the_scripted_actors_play_through_the_common_runner(category: str) -> None:
    for stand_in, wanted in (("oracle", 25), ("noop", 0)):
        family = BFCL(categories=[category], stand_in=stand_in)
        episodes = metagym.play(family.task_set("test")[::8], "rules", family=family)
        assert sum(bool(episode.success) for episode in episodes) == wanted
        assert {episode.backend for episode in episodes} == {"scripted"}
        assert all(episode.info["scores"]["official"] == float(bool(episode.success)) for episode in episodes)


def test_the_oracle_tells_the_categories_apart_but_for_two_entries() -> None:
    family = BFCL()
    names = [f"multi_turn_{c}_{n}" for c in ("base", "miss_param", "long_context") for n in (11, 38, 143, 180, 195)]
    episodes = metagym.play([family.task_set("test").by_id(name) for name in names], "rules", family=family)
    lost = {episode.task.id for episode in episodes if not episode.success}
    assert lost == {"multi_turn_miss_param_180", "multi_turn_miss_param_195"}


def test_states_that_cannot_be_compared_are_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    def checker(execute: Any) -> Any:
        def raises(*_: Any) -> Any:
            raise RecursionError("maximum recursion depth exceeded in comparison")

        return raises

    monkeypatch.setattr(package, "checker", checker)
    info = playing.play(playing.entry("multi_turn_base_0"), playing.answer)
    assert not info["success"] and info["verdict"]["error"] == RAISED and "RecursionError" in info["verdict"]["message"]


def test_written_calls_are_read_as_they_were() -> None:
    for category in CATEGORIES:
        for one in entries(category).values():
            for calls in one.truth:
                assert read_calls(written(calls)) == calls
