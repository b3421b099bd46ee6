from __future__ import annotations

import asyncio
from typing import Any

import pytest

from metagym.chat import Reply, Request, scripted
from metagym.chat.limit import Limited, Pace
from metagym.chat.retry import Retrying
from metagym.errors import ChatError, ContextOverflow, RateLimited, ServerUnavailable


class Flaky:
    """Raises the scripted failures, then answers; remembers when it was asked."""

    def __init__(self, *failures: BaseException, seconds: float = 0.0) -> None:
        self.failures = list(failures)
        self.seconds = seconds
        self.asked: list[float] = []
        self.now = 0
        self.most = 0

    async def __call__(self, request: Request) -> str:
        self.asked.append(asyncio.get_running_loop().time())
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
            if self.failures:
                raise self.failures.pop(0)
            return "ok"
        finally:
            self.now -= 1


def limited(seconds: float | None) -> RateLimited:
    error = RateLimited("429")
    error.retry_after = seconds
    return error


def test_transient_failures_are_tried_again_and_counted(ask, run_instantly):
    flaky = Flaky(ServerUnavailable("500"), limited(None))
    reply = run_instantly(Retrying(scripted(flaky), retries=2).chat(ask()))
    assert (reply.text, reply.attempts) == ("ok", 3)


@pytest.mark.parametrize("error", [ChatError("404"), ContextOverflow("long")])
def test_other_failures_are_not(ask, run_instantly, error):
    flaky = Flaky(error)
    with pytest.raises(type(error)):
        run_instantly(Retrying(scripted(flaky), retries=5).chat(ask()))
    assert len(flaky.asked) == 1


def test_the_last_failure_keeps_its_type_and_says_how_often_it_was_tried(ask, run_instantly):
    flaky = Flaky(*[limited(1.0) for _ in range(9)])
    with pytest.raises(RateLimited, match=r"429 \(3 requests in .* retries=2\)") as caught:
        run_instantly(Retrying(scripted(flaky), retries=2).chat(ask()))
    assert len(flaky.asked) == 3 and caught.value.attempts == 3
    assert flaky.asked[-1] - flaky.asked[0] >= 2.0


def test_waits_grow_stay_bounded_and_follow_the_seed(ask, run_instantly):
    def waits(seed: int) -> list[float]:
        flaky = Flaky(*[ServerUnavailable("500") for _ in range(12)])
        run_instantly(Retrying(scripted(flaky), retries=12, deadline=1e6, seed=seed).chat(ask()))
        return [after - before for before, after in zip(flaky.asked, flaky.asked[1:], strict=False)]

    first = waits(0)
    assert first == pytest.approx(waits(0)) and first != pytest.approx(waits(1))
    assert all(0 <= wait <= min(30.0, 0.5 * 2**n) + 0.01 for n, wait in enumerate(first))


def test_a_wait_past_the_deadline_ends_the_call_at_once(ask, run_instantly):
    flaky = Flaky(limited(3600.0))

    async def timed() -> float:
        with pytest.raises(RateLimited, match="deadline=600"):
            await Retrying(scripted(flaky), retries=5).chat(ask())
        return asyncio.get_running_loop().time()

    assert run_instantly(timed()) < 1.0


def test_a_silent_server_is_left_after_the_timeout(ask, run_instantly):
    flaky = Flaky(seconds=1e9)
    with pytest.raises(ServerUnavailable, match="no answer within 5 s"):
        run_instantly(Retrying(scripted(flaky), retries=1, timeout=5).chat(ask()))
    assert len(flaky.asked) == 2


def test_a_cancelled_call_is_not_tried_again(ask, run_instantly):
    flaky = Flaky(seconds=1e9)

    async def cancel() -> None:
        task = asyncio.create_task(Retrying(scripted(flaky), timeout=1e12, deadline=1e12).chat(ask()))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_instantly(cancel())
    assert len(flaky.asked) == 1


def run_many(model: Any, request: Request, number: int) -> Any:
    async def many() -> list[Reply]:
        return await asyncio.gather(*(model.chat(request) for _ in range(number)))

    return many()


def test_no_more_calls_at_once_than_allowed(ask, run_instantly):
    flaky = Flaky(seconds=1.0)
    model = Limited(scripted(flaky), concurrency=3)
    run_instantly(run_many(model, ask(), 10))
    run_instantly(run_many(model, ask(), 10))  # on a new loop
    assert flaky.most == 3


def test_no_more_requests_in_any_minute_than_allowed(ask, run_instantly):
    flaky = Flaky()
    run_instantly(run_many(Limited(scripted(flaky), pace=Pace(rpm=4)), ask(), 10))
    assert all(later - earlier >= 60 for earlier, later in zip(flaky.asked, flaky.asked[4:], strict=False))
    assert flaky.asked[-1] < 121


def test_no_more_tokens_in_any_minute_than_allowed(ask, run_instantly):
    flaky = Flaky()
    request = ask("x" * 40, max_tokens=36)  # 10 + 4 + 36 = 50 tokens
    run_instantly(run_many(Limited(scripted(flaky), pace=Pace(tpm=100)), request, 5))
    assert [round(at / 60) for at in flaky.asked] == [0, 0, 1, 1, 2]


def test_a_request_larger_than_the_minute_is_sent_alone(ask, run_instantly):
    flaky = Flaky()
    run_instantly(run_many(Limited(scripted(flaky), pace=Pace(tpm=10)), ask(max_tokens=100), 2))
    assert [round(at / 60) for at in flaky.asked] == [0, 1]


def test_further_tries_count_against_the_pace(ask, run_instantly):
    flaky = Flaky(limited(0.0), limited(0.0))
    pace = Pace(rpm=1)
    model = Limited(Retrying(scripted(flaky), pace=pace), pace=pace)
    run_instantly(model.chat(ask()))
    assert [round(at / 60) for at in flaky.asked] == [0, 1, 2]
