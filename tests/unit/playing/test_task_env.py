from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from metagym import Family
from metagym.errors import BadInput
from metagym.playing.task_env import TaskEnv
from tests.support.worlds import ListEnv, family_of


class Echo(gymnasium.Env[str, str]):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        return "start", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return repr(action), 1.0, False, False, {}


def test_a_text_without_a_command_is_not_sent_and_costs_a_step() -> None:
    env = TaskEnv(family_of(lambda task: Echo()), max_steps=2)
    env.reset(seed=0)
    assert env.step(" \n")[:4] == ("start", 0.0, False, False)
    assert env.step("go")[:4] == ("'go'", 1.0, False, True)


@pytest.mark.parametrize("action", ["", " Go\nnow "])
def test_uncleaned_actions_are_sent_as_they_are(action: str) -> None:
    env = TaskEnv(family_of(lambda task: Echo()), clean=False)
    env.reset(seed=0)
    assert env.step(action)[0] == repr(action)


def test_a_reset_that_cannot_open_leaves_nothing_to_step() -> None:
    opened: list[ListEnv] = []

    def once(task: Any) -> ListEnv:
        if opened:
            raise OSError("no second one")
        opened.append(ListEnv("start", [("x", 0.0, False, False, {})]))
        return opened[0]

    family: Family = family_of(once)
    env = TaskEnv(family)
    env.reset(seed=0)
    with pytest.raises(OSError, match="no second one"):
        env.reset()
    with pytest.raises(BadInput, match="call reset"):
        env.step("x")


def test_further_options_are_those_of_the_inner_environment() -> None:
    seen: list[Any] = []

    class Asked(Echo):
        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[str, dict[str, Any]]:
            seen.append(options)
            if options and "colour" in options:
                raise BadInput("there is no colour here")
            return "start", {"hint": options}

    env = TaskEnv(family_of(lambda task: Asked()))
    _, info = env.reset(options={"task": "train-3", "hint": 1})
    assert info["hint"] == {"hint": 1} and info["task"]["id"] == "train-3"
    env.reset(options={"task": "train-3"})
    assert seen == [{"hint": 1}, None]
    with pytest.raises(BadInput, match="no colour"):
        env.reset(options={"colour": "red"})
    with pytest.raises(BadInput, match="call reset"):
        env.step("x")


def test_alfworld_gives_the_experts_plan_on_request_and_refuses_what_it_does_not_know() -> None:
    env = gymnasium.make("MetaGym/ALFWorld-v0", engine="native", data="generated")
    _, info = env.reset(seed=0, options={"expert_plan": True})
    for command in info["expert_plan"]:
        _, reward, terminated, _, info = env.step(command)
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    assert "expert_plan" not in env.reset(seed=0)[1]
    with pytest.raises(BadInput, match="'expert_plan', got \\['colour'\\]"):
        env.reset(options={"colour": 1})


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"max_steps": "50"}, "max_steps is a whole number"),
        ({"max_steps": 2.5}, "max_steps is a whole number"),
        ({"max_steps": 0}, "max_steps is at least 1"),
        ({"task_types": 5}, "task types are a list"),
        ({"clean": "no"}, "clean is True or False"),
    ],
)
def test_unusable_arguments_are_named(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInput, match=named):
        TaskEnv(family_of(lambda task: Echo()), **arguments)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"seed": "a"}, "seed must be"),
        ({"seed": 1.5}, "seed must be"),
        ({"options": "str"}, "options of reset is a dict"),
    ],
)
def test_unusable_resets_are_named(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInput, match=named):
        TaskEnv(family_of(lambda task: Echo())).reset(**arguments)


def test_a_step_without_a_command_shares_no_object_with_the_step_before() -> None:
    class Telling(Echo):
        def reset(self, **_: Any) -> tuple[str, dict[str, Any]]:
            return "start", {"told": {"scores": [1]}}

    env = TaskEnv(family_of(lambda task: Telling()))
    _, first = env.reset(seed=0)
    second = env.step("")[4]
    assert second["told"] == first["told"] and second["told"] is not first["told"]
