# seed: 14
# actions: [{"op": "deposit", "to": "alice", "amount": "120.50"}, {"op": "transfer", "from": "alice", "to": "bob", "amount": "20.25"}, {"op": "batch", "items": [{"op": "transfer", "from": "bob", "to": "carol", "amount": "10"}, {"op": "transfer", "from": "carol", "to": "alice", "amount": "9999"}]}, {"op": "interest", "days": 30}, {"op": "freeze", "who": "bob"}, {"op": "transfer", "from": "bob", "to": "alice", "amount": "1"}, {"op": "close"}]
# expect_total: 0.91972 after 7 steps
"""A ledger with transactions that roll back (contextlib + copy.deepcopy)."""
import copy
import random
from collections import OrderedDict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum, auto
from typing import Dict, Generator, List

CENT = Decimal("0.01")


class AccountState(Enum):
    OPEN = auto()
    FROZEN = auto()

    def __str__(self):
        return self.name.title()


class LedgerError(RuntimeError):
    pass


class InsufficientFunds(LedgerError):
    pass


@dataclass
class Account:
    owner: str
    balance: Decimal = Decimal("0")
    state: AccountState = AccountState.OPEN
    log: List[str] = field(default_factory=list)

    def apply(self, delta: Decimal) -> None:
        if self.state is not AccountState.OPEN:
            raise LedgerError(f"{self.owner} is {self.state}")
        if self.balance + delta < 0:
            raise InsufficientFunds(self.owner)
        self.balance += delta
        self.log.append(f"{delta:+,.2f}")


class Transaction:
    """Own context manager that counts nesting."""

    depth = 0

    def __enter__(self):
        type(self).depth += 1
        return self

    def __exit__(self, exc_type, exc, tb):
        type(self).depth -= 1
        return False


class BankEnv:
    TODAY = date(2023, 12, 30)

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.accounts: "OrderedDict[str, Account]" = OrderedDict(
            (n, Account(n, Decimal(rng.randrange(1000, 5000)) / 100)) for n in ("alice", "bob", "carol")
        )
        self.day = self.TODAY
        self.closed = False
        self.audit: Dict[str, int] = {}
        return self.statement()

    @contextmanager
    def atomic(self) -> Generator[None, None, None]:
        backup = copy.deepcopy(self.accounts)
        try:
            with Transaction():
                yield
        except LedgerError:
            self.accounts = backup
            raise
        else:
            self.audit["commits"] = self.audit.get("commits", 0) + 1
        finally:
            assert Transaction.depth == 0

    def statement(self):
        return "; ".join(f"{a.owner:<6}{a.balance:>9.2f}" for a in self.accounts.values())

    @staticmethod
    def money(text) -> Decimal:
        try:
            return Decimal(str(text)).quantize(CENT)
        except InvalidOperation as e:
            raise LedgerError("bad amount") from e

    def _run(self, cmd) -> float:
        op = cmd["op"]
        if op == "deposit":
            self.accounts[cmd["to"]].apply(self.money(cmd["amount"]))
            return 0.1
        if op == "transfer":
            amount = self.money(cmd["amount"])
            self.accounts[cmd["from"]].apply(-amount)
            self.accounts[cmd["to"]].apply(amount)
            return 0.2
        if op == "interest":
            self.day += timedelta(days=cmd["days"])
            rate = Decimal("0.05") * cmd["days"] / 365
            gained = Decimal(0)
            for a in self.accounts.values():
                with suppress(LedgerError):
                    add = (a.balance * rate).quantize(CENT)
                    a.apply(add)
                    gained += add
            return float(gained)
        if op == "freeze":
            self.accounts[cmd["who"]].state = AccountState.FROZEN
            return 0.0
        if op == "batch":
            return sum(self._run(c) for c in cmd["items"])
        raise LedgerError(f"unknown op {op}")

    def step(self, action):
        if action["op"] == "close":
            self.closed = True
            total = sum((a.balance for a in self.accounts.values()), Decimal())
            return self.statement(), float(total) / 1000, True, {"day": self.day.isoformat(), "audit": self.audit}
        try:
            with self.atomic():
                reward = self._run(action)
        except InsufficientFunds as e:
            return f"insufficient funds: {e}", -0.3, False, {}
        except LedgerError as e:
            return f"error: {e}", -0.15, False, {}
        return self.statement(), reward, False, {"weekday": f"{self.day:%A}"}
