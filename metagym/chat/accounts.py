"""Who spent what: tokens and money per seat, and a hard budget that is checked before each call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from metagym.chat.layers import Layer
from metagym.chat.tokens import bound_prompt
from metagym.chat.types import ChatModel, Reply, Request
from metagym.checks import number, whole
from metagym.episodes import Usage
from metagym.errors import BadInput, BudgetExceeded, ChatError


@dataclass(frozen=True, slots=True)
class Budget:
    """Hard limits of a run; None means none.

    Attributes:
        calls: Model calls, failed ones included; retries of a call are part of it.
        tokens: Prompt plus completion tokens.
        cost: Money, in the currency of the prices.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        """Limits are finite and not negative; 0 allows nothing."""
        for name in ("calls", "tokens", "cost"):
            if (value := getattr(self, name)) is not None:
                check = number if name == "cost" else whole
                object.__setattr__(self, name, check(f"a budget of {name}", value, 0))


@dataclass(slots=True)
class Account:
    """What one seat spent. The usage is what was paid; cached replies stand beside it.

    Attributes:
        usage: Tokens and cost of the replies that were paid.
        cached: Replies that came from the cache, or from an equal call on its way: nothing was paid.
        retries: Requests beyond the first of their call.
        failed: Calls that ended in an error or were cancelled; their tokens are not known.
        cut: Answers cut by length, with or without text.
        absent: Replies without text (length, refused, empty, error).
    """

    usage: Usage = Usage()
    cached: int = 0
    retries: int = 0
    failed: int = 0
    cut: int = 0
    absent: int = 0

    def to_json(self) -> dict[str, Any]:
        """The account as a JSON object."""
        data: dict[str, Any] = {name.name: getattr(self, name.name) for name in fields(self)}
        return {**data, "usage": self.usage.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Account:
        """The inverse of `to_json`."""
        return cls(**{**data, "usage": Usage.from_json(data["usage"])})


@dataclass(slots=True)
class _Sum:
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def add(self, calls: int, tokens: int, cost: float) -> None:
        self.calls += calls
        self.tokens += tokens
        self.cost += cost


class Ledger:
    """The accounts of a run, shared by its seats, with one budget over all of them.

    A call first reserves the most it can spend, so that concurrent calls cannot overrun the budget together. One that
    does not fit beside the others' reservations waits until they are settled; one that does not fit at all is refused.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        """Opens empty accounts under `budget`."""
        self.budget = budget or Budget()
        self._accounts: dict[str, Account] = {}
        self._spent = _Sum()
        self._reserved = _Sum()
        self._lock = threading.Lock()  # seats may run on loops of several threads
        self.models: list[Accounted] = []
        """The models whose calls it books."""
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    def account(self, seat: str) -> Account:
        """The account of a seat; opened at its first use."""
        account = self._accounts.get(seat)
        if account is None:
            account = self._accounts[seat] = Account()
        return account

    def totals(self) -> dict[str, Any]:
        """The state as JSON, for reports and for `restore`: ``{"seats": {...}, "total": {...}, "budget": {...}}``."""
        with self._lock:
            seats = {seat: self._accounts[seat].to_json() for seat in sorted(self._accounts)}
            accounts = list(self._accounts.values())
        total = Account(
            usage=Usage.total(account.usage for account in accounts),
            **{
                name: sum(getattr(a, name) for a in accounts)
                for name in ("cached", "retries", "failed", "cut", "absent")
            },
        )
        budget = {"calls": self.budget.calls, "tokens": self.budget.tokens, "cost": self.budget.cost}
        return {"seats": seats, "total": total.to_json(), "budget": budget}

    def restore(self, totals: Mapping[str, Any]) -> None:
        """Takes over the totals of an earlier part of the run, so that its budget goes on where it stood.

        Raises:
            BadInput: This ledger was used already, or `totals` is not what `totals()` returns.
        """
        if self._accounts:
            raise BadInput("totals are restored before the first call, and this ledger holds calls already")
        try:
            accounts = {str(seat): Account.from_json(data) for seat, data in totals["seats"].items()}
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise BadInput(f"not the totals of a ledger: {error!r}") from error
        self._accounts = accounts
        for account in accounts.values():
            usage = account.usage
            self._spent.add(usage.calls + account.failed, usage.prompt_tokens + usage.completion_tokens, usage.cost)

    async def reserve(self, tokens: int, cost: float) -> None:
        """Sets aside the most that one call can spend.

        Raises:
            BudgetExceeded: It does not fit the budget; the message says which limit.
        """
        while True:
            with self._lock:
                over = self._over(tokens, cost, self._reserved)
                if over is None:
                    self._reserved.add(1, tokens, cost)
                    return
                alone = self._over(tokens, cost, _Sum(calls=self._reserved.calls))  # a call is never given back
                if alone is not None:
                    raise BudgetExceeded(alone)
                loop = asyncio.get_running_loop()
                settled: asyncio.Future[None] = loop.create_future()
                self._waiting.append((loop, settled))
            await settled

    def settle(self, seat: str, tokens: int, cost: float, reply: Reply | None) -> None:
        """Ends a reservation and books what was really spent; None books a failed call."""
        with self._lock:
            self._reserved.add(-1, -tokens, -cost)
            account = self.account(seat)
            if reply is None:
                account.failed += 1
                self._spent.calls += 1
            else:
                # A reply that counts itself as none, as one of a custom model may, was a call all the same.
                usage = reply.usage if reply.usage.calls else replace(reply.usage, calls=1)
                account.usage = account.usage + usage
                account.retries += max(0, reply.attempts - 1)
                self._spent.add(usage.calls, usage.prompt_tokens + usage.completion_tokens, usage.cost)
                _note(account, reply)
            waiting, self._waiting = self._waiting, []
        for loop, settled in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_wake, settled)

    def note_retries(self, seat: str, retries: int) -> None:
        """Books the retries of a call that failed in the end."""
        with self._lock:
            self.account(seat).retries += retries

    def note_cached(self, seat: str, reply: Reply) -> None:
        """Books a reply that cost nothing."""
        with self._lock:
            account = self.account(seat)
            account.cached += 1
            _note(account, reply)

    def note_elsewhere(self, seat: str, usage: Usage) -> None:
        """Books calls that another process made and paid."""
        with self._lock:
            account = self.account(seat)
            account.usage = account.usage + usage
            self._spent.add(usage.calls, usage.prompt_tokens + usage.completion_tokens, usage.cost)

    def _over(self, tokens: int, cost: float, reserved: _Sum) -> str | None:
        """Which limit one more call would pass, in words; None if it fits."""
        spent, budget = self._spent, self.budget
        if budget.calls is not None and spent.calls + reserved.calls + 1 > budget.calls:
            made = f"{spent.calls} made" + (f", {reserved.calls} under way" if reserved.calls else "")
            return f"the budget of {budget.calls} calls is used up ({made}); the call was not made"
        if budget.tokens is not None and spent.tokens + reserved.tokens + tokens > budget.tokens:
            return (
                f"the next call may take {tokens} tokens, with {spent.tokens} of the budget of {budget.tokens} spent: "
                "it was not made"
            )
        if budget.cost is not None and spent.cost + reserved.cost + cost > budget.cost * (1 + 1e-12):
            return (
                f"the next call may cost {cost:.6g}, with {spent.cost:.6g} of the budget of {budget.cost:.6g} spent: "
                "it was not made"
            )
        return None


def _note(account: Account, reply: Reply) -> None:
    account.cut += reply.cut or reply.absence == "length"
    account.absent += reply.absence is not None


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def as_ledger(budget: Budget | Ledger | None) -> Ledger:
    """A ledger with this budget; a ledger is returned as it is."""
    if isinstance(budget, Ledger):
        return budget
    if budget is None or isinstance(budget, Budget):
        return Ledger(budget)
    raise BadInput(f"a budget is a Budget or a Ledger, got {type(budget).__name__}")


class Accounted(Layer):
    """Books every call of a model, and refuses those that the budget does not cover.

    Attributes:
        ledger: The accounts.
    """

    def __init__(
        self,
        inner: ChatModel,
        ledger: Ledger,
        *,
        seat: str = "",
        price_in: float | None = None,
        price_out: float | None = None,
    ) -> None:
        """Wraps `inner`.

        Args:
            inner: The model.
            ledger: The accounts to book on.
            seat: Account of requests without a tag.
            price_in: Price of a million prompt tokens.
            price_out: Price of a million completion tokens, reasoning included.

        Raises:
            BadInput: The budget limits money and the model is on a server whose prices are not given.
        """
        super().__init__(inner)
        if ledger.budget.cost is not None and inner.backend == "server" and None in (price_in, price_out):
            raise BadInput(f"a budget of money needs prices: add price_in= and price_out= to the spec of {inner.id}")
        self.ledger = ledger
        ledger.models.append(self)
        self._seat = seat
        self._price_in = (price_in or 0.0) / 1e6
        self._price_out = (price_out or 0.0) / 1e6
        budget = ledger.budget
        self._bounded = budget.tokens is not None or budget.cost is not None

    async def chat(self, request: Request) -> Reply:
        """Answers one request, booked.

        Raises:
            BudgetExceeded: The call could pass the budget; it was not made.
        """
        seat = request.tag or self._seat
        prompt = bound_prompt(request) if self._bounded else 0
        tokens = prompt + request.max_tokens if self._bounded else 0
        most = prompt * self._price_in + request.max_tokens * self._price_out if self._bounded else 0.0
        await self.ledger.reserve(tokens, most)
        reply: Reply | None = None
        try:
            reply = await self.inner.chat(request)
            if self._price_in or self._price_out:
                reply = replace(reply, usage=self._priced(reply.usage))
        except ChatError as error:
            self.ledger.note_retries(seat, max(0, error.attempts - 1))
            raise
        finally:  # also when the call is cancelled: a reservation left behind would block the others for good
            self.ledger.settle(seat, tokens, most, reply)
        return reply

    def book(self, usage: Usage) -> None:
        """Books what another process asked of the same model."""
        self.ledger.note_elsewhere(self._seat, usage)

    def _priced(self, usage: Usage) -> Usage:
        return replace(usage, cost=usage.prompt_tokens * self._price_in + usage.completion_tokens * self._price_out)
