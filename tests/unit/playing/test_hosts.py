from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from metagym.errors import BadTransition, DeadlineExceeded, HostError
from metagym.playing.hosts import ThreadHost, checked_reset, checked_step
from tests.support.worlds import GuessEnv, family_of


class Noted(GuessEnv):
    """Opens when it is let in, and says when it is closed."""

    def __init__(self, let_in: threading.Event, closed: threading.Event) -> None:
        super().__init__()
        assert let_in.wait(30)
        self.closed = closed

    def close(self) -> None:
        self.closed.set()


def test_an_environment_whose_opening_was_given_up_is_closed_all_the_same() -> None:
    let_in, closed = threading.Event(), threading.Event()
    family = family_of(lambda task: Noted(let_in, closed))
    task = family.tasks("train")[0]

    async def give_up() -> None:
        host = ThreadHost(family, deadline=0.05)
        with pytest.raises(DeadlineExceeded, match="opening"):
            await host.open(task)
        with pytest.raises(HostError, match="gone"):
            await host.step("x")
        await host.close()
        await host.close()

    asyncio.run(give_up())
    assert not closed.is_set()
    let_in.set()
    assert closed.wait(30)


@pytest.mark.parametrize("info", [None, "facts", [1]])
def test_an_info_that_is_no_dict_is_refused_by_name(info: Any) -> None:
    task = family_of(lambda task: GuessEnv()).tasks("train")[0]
    with pytest.raises(BadTransition, match=f"reset gave {type(info).__name__} as info"):
        checked_reset(task, ("text", info))
    with pytest.raises(BadTransition, match=f"step gave {type(info).__name__} as info"):
        checked_step(task, ("text", 0.0, True, False, info))
