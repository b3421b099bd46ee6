"""One timer for many deadlines: each holds for its own work, and nobody else's cancellation is taken for one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from metagym_trainers.ict.deadlines import Deadlines, Late

SOON, NEVER = 0.02, 60.0


async def said(word: str, after: float = 0.0) -> str:
    await asyncio.sleep(after)
    return word


def run(work: Awaitable[Any]) -> Any:
    async def bounded() -> Any:
        return await asyncio.wait_for(work, NEVER)

    return asyncio.run(bounded())


def test_work_that_ends_in_time_is_not_touched_and_leaves_no_timer() -> None:
    async def work() -> list[str]:
        deadlines = Deadlines()
        found = [await deadlines.within(NEVER, said(str(at))) for at in range(100)]
        timers = [handle for handle in asyncio.get_running_loop()._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]
        assert len(timers) <= 2  # of these deadlines, and of this test's own
        deadlines.close()
        return found

    assert run(work()) == [str(at) for at in range(100)]


def test_late_work_is_cancelled_and_the_next_has_a_deadline_of_its_own() -> None:
    async def work() -> list[str]:
        deadlines, found = Deadlines(), []
        for seconds, after in ((SOON, NEVER), (NEVER, 2 * SOON), (SOON, NEVER), (NEVER, 0.0), (SOON, NEVER)):
            try:
                found.append(await deadlines.within(seconds, said("in time", after)))
            except Late:
                found.append("late")
        task = asyncio.current_task()
        assert task is not None and task.cancelling() == 0
        return found

    assert run(work()) == ["late", "in time", "late", "in time", "late"]


def test_the_timer_of_a_deadline_that_is_gone_cuts_no_later_work_short() -> None:
    async def work() -> str:
        deadlines = Deadlines()
        await deadlines.within(SOON, said("quick"))
        return await deadlines.within(NEVER, said("slow", 3 * SOON))  # the first one's timer rings meanwhile

    assert run(work()) == "slow"


def test_somebody_else_s_cancellation_is_no_deadline() -> None:
    async def work() -> None:
        async def waiting() -> None:
            await Deadlines().within(NEVER, asyncio.sleep(NEVER))

        task = asyncio.create_task(waiting())
        await asyncio.sleep(SOON)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())


def test_errors_pass_and_work_that_makes_another_one_of_its_end_leaves_the_task_uncancelled() -> None:
    async def stubborn(result: Any) -> Any:
        try:
            await asyncio.sleep(NEVER)
        except asyncio.CancelledError:
            if isinstance(result, Exception):
                raise result from None
        return result

    async def work() -> None:
        deadlines, task = Deadlines(), asyncio.current_task()
        with pytest.raises(ValueError, match="mine"):
            await deadlines.within(SOON, stubborn(ValueError("mine")))
        assert await deadlines.within(SOON, stubborn("an answer all the same")) == "an answer all the same"
        assert task is not None and task.cancelling() == 0
        await asyncio.sleep(0)  # nothing of it is left over

    run(work())
