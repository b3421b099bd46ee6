from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from metagym.chat import Reply, Request, Usage, scripted
from metagym.chat.accounts import Account, Accounted, Budget, Ledger
from metagym.errors import BadInput, BudgetExceeded, ChatError


def spending(prompt: int = 10, completion: int = 5, **more: Any) -> Callable[[Request], Reply]:
    usage = Usage(calls=1, prompt_tokens=prompt, completion_tokens=completion)
    return lambda request: Reply("ok", usage=usage, backend="server", **more)


def gather(model: Accounted, requests: list[Request]) -> list[Reply | BaseException]:
    async def all_of_them() -> list[Reply | BaseException]:
        return await asyncio.gather(*(model.chat(request) for request in requests), return_exceptions=True)

    return asyncio.run(all_of_them())


def test_calls_are_booked_on_the_seat_that_asked(ask):
    ledger = Ledger()
    model = Accounted(scripted(spending(attempts=3)), ledger, seat="actor", price_in=1e6, price_out=2e6)
    replies = gather(model, [ask(), ask(tag="reflector"), ask()])
    assert [reply.usage.cost for reply in replies if isinstance(reply, Reply)] == [20.0] * 3
    totals = ledger.totals()
    assert totals["seats"]["actor"]["usage"]["calls"] == 2
    assert totals["seats"]["actor"]["retries"] == 4
    assert totals["total"]["usage"] == Usage(3, 30, 15, cost=60.0).to_json()
    json.dumps(totals, allow_nan=False)


def test_s17_answers_cut_by_length_are_counted(ask):
    ledger = Ledger()
    replies = iter(
        [Reply(None, absence="length"), Reply("half", cut=True), Reply("whole"), Reply(None, absence="empty")]
    )
    gather(Accounted(scripted(lambda request: next(replies)), ledger), [ask()] * 4)
    total = ledger.totals()["total"]
    assert (total["cut"], total["absent"]) == (2, 2)


def test_failed_and_cancelled_calls_are_booked_and_free_their_reservation(ask):
    ledger = Ledger(Budget(calls=3))

    async def fail(request: Request) -> str:
        if request.tag == "hang":
            await asyncio.Event().wait()
        error = ChatError("no")
        error.attempts = 4
        raise error

    model = Accounted(scripted(fail), ledger)

    async def work() -> None:
        with pytest.raises(ChatError):
            await model.chat(ask(tag="bad"))
        task = asyncio.create_task(model.chat(ask(tag="hang")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    seats = ledger.totals()["seats"]
    assert (seats["bad"]["failed"], seats["bad"]["retries"], seats["hang"]["failed"]) == (1, 3, 1)
    with pytest.raises(BudgetExceeded):  # two of three calls are used, both of them free again for others
        asyncio.run(ledger.reserve(0, 0.0))
        asyncio.run(ledger.reserve(0, 0.0))


class Counter:
    """A slow model that counts its calls and spends as told."""

    def __init__(self, reply: Callable[[Request], Reply]) -> None:
        self.calls = 0
        self._reply = reply

    async def __call__(self, request: Request) -> Reply:
        self.calls += 1
        await asyncio.sleep(0.001)
        return self._reply(request)


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_concurrent_calls_cannot_overrun_a_budget_of_calls(ask, limit):
    counter = Counter(spending())
    outcomes = gather(Accounted(scripted(counter), Ledger(Budget(calls=limit))), [ask()] * 12)
    assert counter.calls == limit
    assert sum(isinstance(outcome, BudgetExceeded) for outcome in outcomes) == 12 - limit


def test_a_reply_that_counts_itself_as_no_call_counts_as_one(ask):
    ledger = Ledger(Budget(calls=2))
    model = Accounted(scripted(lambda request: Reply("ok")), ledger, seat="actor")
    replies = [gather(model, [ask()])[0] for _ in range(3)]
    assert [isinstance(reply, BudgetExceeded) for reply in replies] == [False, False, True]
    assert ledger.account("actor").usage.calls == 2


def test_concurrent_calls_cannot_overrun_a_budget_of_tokens(ask):
    # The worst prompt: each character is several tokens. The model spends all that it may.
    def worst(request: Request) -> Reply:
        prompt = len(request.messages[0].content.encode())
        return Reply("ok", usage=Usage(1, prompt, request.max_tokens))

    request = ask("鍵" * 100, max_tokens=50)
    ledger = Ledger(Budget(tokens=2000))
    outcomes = gather(Accounted(scripted(worst), ledger), [request] * 12)
    spent = ledger.totals()["total"]["usage"]
    assert spent["prompt_tokens"] + spent["completion_tokens"] <= 2000
    assert sum(isinstance(outcome, Reply) for outcome in outcomes) == 5  # 350 each, and the next may take 494
    refused = next(outcome for outcome in outcomes if not isinstance(outcome, Reply))
    assert isinstance(refused, BudgetExceeded) and "budget of 2000" in str(refused)


def test_a_call_waits_for_reservations_that_may_turn_out_smaller(ask):
    counter = Counter(spending(10, 1))
    outcomes = gather(Accounted(scripted(counter), Ledger(Budget(tokens=1000))), [ask(max_tokens=500)] * 6)
    assert all(isinstance(outcome, Reply) for outcome in outcomes) and counter.calls == 6


def test_a_budget_of_money_is_hard_and_needs_prices(ask):
    ledger = Ledger(Budget(cost=0.01))
    model = Accounted(scripted(spending(100, 100), backend="server"), ledger, price_in=10, price_out=10)
    outcomes = gather(model, [ask(max_tokens=100)] * 20)
    assert 0 < ledger.totals()["total"]["usage"]["cost"] <= 0.01
    assert any(isinstance(outcome, BudgetExceeded) for outcome in outcomes)
    with pytest.raises(BadInput, match="price_in="):
        Accounted(scripted(spending(), backend="server"), Ledger(Budget(cost=1.0)), price_in=1)


def test_threads_share_one_budget(ask):
    counter = Counter(spending())
    model = Accounted(scripted(counter), Ledger(Budget(calls=20)))
    threads = [threading.Thread(target=gather, args=(model, [ask()] * 10)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.calls == 20


def test_a_resumed_run_goes_on_with_what_was_spent(ask):
    first = Ledger(Budget(calls=3))
    gather(Accounted(scripted(spending()), first, seat="actor"), [ask()] * 2)
    saved = json.loads(json.dumps(first.totals()))
    second = Ledger(Budget(calls=3))
    second.restore(saved)
    assert second.totals() == first.totals()
    outcomes = gather(Accounted(scripted(spending()), second, seat="actor"), [ask()] * 2)
    assert sum(isinstance(outcome, Reply) for outcome in outcomes) == 1
    with pytest.raises(BadInput, match="before the first call"):
        second.restore(saved)


@pytest.mark.parametrize("bad", [{}, {"seats": 3}, {"seats": {"actor": {}}}, {"seats": {"actor": {"usage": {"x": 1}}}}])
def test_senseless_totals_are_refused(bad):
    with pytest.raises(BadInput, match="not the totals"):
        Ledger().restore(bad)


@pytest.mark.parametrize("bad", [{"calls": -1}, {"tokens": True}, {"cost": float("nan")}, {"cost": "1"}])
def test_senseless_budgets_are_refused(bad):
    with pytest.raises(BadInput):
        Budget(**bad)


def test_an_account_is_read_back_equal():
    account = Account(Usage(1, 2, 3, cost=0.5), cached=4, retries=5, failed=6, cut=7, absent=8)
    assert Account.from_json(json.loads(json.dumps(account.to_json()))) == account


def test_the_message_of_a_used_up_budget_tells_what_is_under_way():
    ledger = Ledger(Budget(calls=2))

    async def work() -> None:
        await ledger.reserve(0, 0.0)
        ledger.settle("actor", 0, 0.0, Reply("ok"))
        await ledger.reserve(0, 0.0)
        with pytest.raises(BudgetExceeded, match=r"budget of 2 calls is used up \(1 made, 1 under way\)"):
            await ledger.reserve(0, 0.0)
        ledger.settle("actor", 0, 0.0, Reply("ok"))
        with pytest.raises(BudgetExceeded, match=r"budget of 2 calls is used up \(2 made\)"):
            await ledger.reserve(0, 0.0)

    asyncio.run(work())
