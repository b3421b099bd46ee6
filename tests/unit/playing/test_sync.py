"""The loop in a thread of our own survives what runs on it."""

from __future__ import annotations

import sys

import pytest

import metagym
from metagym.errors import HostError, TooManyFailures
from metagym.playing import sync
from tests.support.worlds import GuessEnv, family_of, guess_family


class LeavingEnv(GuessEnv):
    def step(self, action):
        raise self.leaving


class Exits(LeavingEnv):
    leaving = SystemExit(3)


class Stops(LeavingEnv):
    leaving = StopIteration()


@pytest.mark.parametrize("hosts", ["inline", "thread", "process:1"])
@pytest.mark.parametrize("kind", [Exits, Stops])
def test_an_environment_that_leaves_ends_its_episode_alone(hosts, kind):
    family = family_of(lambda task: kind() if task.id == "train-1" else GuessEnv(), "Guess", max_steps=2)
    episodes = metagym.play(list(family.tasks("train"))[:4], "random", family=family, hosts=hosts)
    assert [e.scored for e in episodes] == [True, False, True, True]
    assert "StopIteration" in episodes[1].cause or "SystemExit" in episodes[1].cause


def test_a_model_that_leaves_does_not_take_the_process_along():
    family = guess_family(max_steps=2)
    with pytest.raises(TooManyFailures, match="SystemExit: 3"):
        metagym.play(list(family.tasks("train"))[:3], lambda request: sys.exit(3), family=family)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_loop_that_was_ended_is_said_and_replaced():
    async def end():
        raise KeyboardInterrupt

    async def fine():
        return 7

    with pytest.raises((HostError, KeyboardInterrupt)):
        sync.run(end())
    assert sync.run(fine()) == 7


def test_a_timeout_of_the_work_itself_is_passed_on():
    async def late():
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        sync.run(late())
