# seed: 30
# actions: ["bid 12.50", "bid 40", "pass", "inspect", "bid 3.333", "bid abc", "bid 25", "bid 1000", "bid 18.75", "pass", "bid 9"]
# expect_total: -1.44 after 11 steps
"""Sealed-bid second-price (Vickrey) auctions against strategic bidders."""
from __future__ import annotations

import random
from abc import ABC, abstractmethod
from bisect import insort
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation, getcontext
from typing import ClassVar, Self

getcontext().prec = 12


@dataclass(frozen=True, order=True, slots=True)
class Money:
    amount: Decimal

    ZERO: ClassVar["Money"]

    @classmethod
    def parse(cls, text: str) -> Self:
        try:
            value = Decimal(text)
        except InvalidOperation:
            raise ValueError(f"not an amount: {text!r}") from None
        if value != value.quantize(Decimal("0.01")) or value < 0:
            raise ValueError("amounts have at most two decimals and are not negative")
        return cls(value)

    def __add__(self, other: Money) -> Money:
        return Money(self.amount + other.amount)

    def __sub__(self, other: Money) -> Money:
        return Money(self.amount - other.amount)

    def __str__(self) -> str:
        return f"€{self.amount:.2f}"


Money.ZERO = Money(Decimal(0))


class Bidder(ABC):
    def __init__(self, name: str, rng: random.Random) -> None:
        self.name, self.rng = name, rng

    @abstractmethod
    def bid(self, common: Decimal) -> Money: ...

    def _noisy(self, common: Decimal, low: float, high: float) -> Money:
        factor = Decimal(str(round(self.rng.uniform(low, high), 3)))
        return Money((common * factor).quantize(Decimal("0.01")))


class Truthful(Bidder):
    def bid(self, common: Decimal) -> Money:
        return self._noisy(common, 0.9, 1.1)


class Shader(Bidder):
    def bid(self, common: Decimal) -> Money:
        return self._noisy(common, 0.5, 0.8)


class Overexcited(Bidder):
    def bid(self, common: Decimal) -> Money:
        return self._noisy(common, 0.8, 1.5)


@dataclass(frozen=True)
class Account:
    cash: Money
    won: int = 0
    surplus: Money = Money.ZERO


class VickreyAuctionEnv:
    ROUNDS = 8

    def reset(self, seed: int | None = None) -> tuple[str, dict]:
        self._rng = random.Random(seed)
        kinds: list[type[Bidder]] = [Truthful, Shader, Overexcited]
        self._rivals = [cls(f"{cls.__name__}-{i}", self._rng) for i, cls in enumerate(self._rng.choices(kinds, k=3))]
        self._account = Account(cash=Money(Decimal("100.00")))
        self._round = 0
        self._history: list[Money] = []
        return self._new_lot(), {}

    def _new_lot(self) -> str:
        self._round += 1
        self._common = Decimal(self._rng.randint(500, 4000)) / 100
        noise = Decimal(self._rng.randint(-300, 300)) / 100
        self._signal = max(Decimal("0.50"), self._common + noise)
        return f"Lot {self._round}/{self.ROUNDS}. Your estimate: {Money(self._signal)}. Cash: {self._account.cash}."

    def step(self, action: str) -> tuple[str, float, bool, dict]:
        verb, _, arg = action.partition(" ")
        if verb == "inspect":
            self._account = replace(self._account, cash=self._account.cash - Money(Decimal(1)))
            return f"An expert says: {Money(self._common)}.", -0.1, False, {}
        if verb not in {"bid", "pass"}:
            return "Use 'bid X', 'inspect' or 'pass'.", -0.1, False, {}
        try:
            mine = Money.parse(arg) if verb == "bid" else Money.ZERO
            if mine > self._account.cash:
                raise ValueError(f"you only have {self._account.cash}")
        except ValueError as e:
            return f"Rejected: {e}.", -0.1, False, {}
        bids: list[tuple[Money, str]] = []
        for rival in self._rivals:
            insort(bids, (rival.bid(self._common), rival.name))
        insort(bids, (mine, "you"))
        (price, _), (_, winner) = bids[-2:]
        self._history.append(price)
        reward = 0.0
        if winner == "you":
            gain = Money(self._common) - price
            self._account = replace(self._account, cash=self._account.cash - price, won=self._account.won + 1, surplus=self._account.surplus + gain)
            reward = float(gain.amount)
        text = f"{winner} wins at {price}."
        if self._round == self.ROUNDS:
            return f"{text} Total surplus {self._account.surplus}.", reward, True, {"won": self._account.won}
        return f"{text} {self._new_lot()}", reward, False, {"won": self._account.won}
