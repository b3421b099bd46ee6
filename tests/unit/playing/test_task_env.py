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
