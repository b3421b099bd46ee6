"""Undo is a replay: the same moves, then one less."""

from __future__ import annotations

from typing import Any

import pytest

from metagym.errors import BadInput, HostError
from metagym.playing.session import Session
from tests.support.worlds import FailingEnv, GuessEnv, ListEnv

STEPS = [(f"step {n}", float(n), n == 3, False, {"success": n == 3}) for n in range(1, 4)]


def test_moves_are_kept_and_taken_back() -> None:
    session = Session(ListEnv("start", STEPS), seed=7)
    for action in ("a", "b", "c"):
        session.act(action)
    assert session.done and session.ret == 6 and session.last.info["success"] is True
    with pytest.raises(BadInput, match="the episode is over"):
        session.act("d")
    assert session.undo() and not session.done
    assert [move.action for move in session.moves] == [None, "a", "b"] and session.ret == 3
    session.act("e")
    assert session.undo(2) and [move.action for move in session.moves] == [None, "a"]
    assert session.undo(99) and session.last.observation == "start" and session.ret == 0
    with pytest.raises(BadInput, match="at least 1"):
        session.undo(0)


def test_options_and_seed_are_those_of_every_reset() -> None:
    seen: list[Any] = []

    class Noted(GuessEnv):
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            seen.append((seed, options))
            return super().reset(seed=seed)

    session = Session(Noted(), 4, {"task": "x"})
    session.act("red")
    session.undo()
    session.restart()
    assert seen == [(4, {"task": "x"})] * 3


def test_an_environment_that_plays_otherwise_is_told_of() -> None:
    class Moody(ListEnv):
        played = 0

        def reset(self, **options: Any) -> Any:
            Moody.played += 1
            observation, info = super().reset(**options)
            return f"{observation} {Moody.played}", info

    session = Session(Moody("start", STEPS))
    session.act("a")
    session.act("b")
    assert session.undo() is False and session.moves[0].observation == "start 2"


def test_failures_of_the_engine_are_typed() -> None:
    session = Session(FailingEnv())
    with pytest.raises(HostError, match="the environment failed: RuntimeError: the engine broke"):
        session.act("red")
    assert len(session.moves) == 1
