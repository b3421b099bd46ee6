# seed: 5
# actions: ["list", "transfer bob alice 3", "transfer bob carol 3", "balance bob", "withdraw dave 900", "deposit carol 14", "transfer frank bob 5", "audit", "transfer alice carol 2"]
# expect_total: 2.75 after 9 steps
"""Bank teller: process a queue of natural-language customer requests with bank commands."""
from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Optional


class BankError(Exception):
    """Base class for everything that can go wrong at the counter."""


class InsufficientFunds(BankError):
    def __init__(self, account: "Account", wanted: int):
        super().__init__(f"{account.owner} has only ${account.balance}, needs ${wanted}")
        self.account = account
        self.wanted = wanted


class UnknownAccount(BankError):
    pass


@dataclass
class Account:
    owner: str
    balance: int = 0
    history: list[str] = field(default_factory=list)

    def deposit(self, amount: int) -> None:
        if amount <= 0:
            raise BankError("amount must be positive")
        self.balance += amount
        self.history.append(f"+{amount}")

    def withdraw(self, amount: int) -> None:
        if amount > self.balance:
            raise InsufficientFunds(self, amount)
        self.balance -= amount
        self.history.append(f"-{amount}")


class Bank:
    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}

    def open(self, owner: str, balance: int) -> Account:
        acc = self._accounts[owner] = Account(owner, balance)
        return acc

    def __getitem__(self, owner: str) -> Account:
        try:
            return self._accounts[owner]
        except KeyError:
            raise UnknownAccount(f"no account for {owner!r}") from None

    def __iter__(self):
        return iter(sorted(self._accounts.values(), key=lambda a: a.owner))

    def transfer(self, src: str, dst: str, amount: int) -> None:
        source, target = self[src], self[dst]
        source.withdraw(amount)
        target.deposit(amount)

    @property
    def total(self) -> int:
        return sum(a.balance for a in self)


@dataclass(frozen=True)
class Ticket:
    text: str
    expected: dict[str, int]


class Env:
    NAMES = ("alice", "bob", "carol", "dave")
    MAX_STEPS = 15

    PATTERNS = [
        (re.compile(r"^list$"), "_cmd_list"),
        (re.compile(r"^balance (?P<who>\w+)$"), "_cmd_balance"),
        (re.compile(r"^deposit (?P<who>\w+) (?P<amount>\d+)$"), "_cmd_deposit"),
        (re.compile(r"^withdraw (?P<who>\w+) (?P<amount>\d+)$"), "_cmd_withdraw"),
        (re.compile(r"^transfer (?P<src>\w+) (?P<dst>\w+) (?P<amount>\d+)$"), "_cmd_transfer"),
    ]

    def reset(self, seed: Optional[int] = None):
        self.rng = random.Random(seed)
        self.bank = Bank()
        for name in self.NAMES:
            self.bank.open(name, self.rng.randrange(20, 200, 10))
        self.steps = 0
        self.done_tickets = 0
        self._next_ticket()
        return self._observe("The bank is open."), {"total": self.bank.total}

    def _next_ticket(self) -> None:
        balances = {a.owner: a.balance for a in self.bank}
        kind = self.rng.choice(["deposit", "split", "pay"])
        a, b, c = self.rng.sample(self.NAMES, 3)
        amount = self.rng.randint(1, 9) * 2
        if kind == "deposit":
            balances[a] += amount
            text = f"{a.title()} brings ${amount} in cash."
        elif kind == "pay":
            balances[a] -= amount
            balances[b] += amount
            text = f"{a.title()} owes {b.title()} ${amount} and wants to settle."
        else:
            balances[a] -= amount
            balances[b] += amount // 2
            balances[c] += amount // 2
            text = f"{a.title()} gives ${amount} to {b.title()} and {c.title()}, split equally."
        self.ticket = Ticket(text, balances)

    def _observe(self, message: str) -> str:
        return f"{message}\n[ticket {self.done_tickets + 1}/3] {self.ticket.text}"

    def _cmd_list(self) -> str:
        return ", ".join(f"{a.owner}=${a.balance}" for a in self.bank)

    def _cmd_balance(self, who: str) -> str:
        return f"{who}: ${self.bank[who].balance} history={self.bank[who].history[-3:]}"

    def _cmd_deposit(self, who: str, amount: str) -> str:
        self.bank[who].deposit(int(amount))
        return f"Deposited ${amount}."

    def _cmd_withdraw(self, who: str, amount: str) -> str:
        self.bank[who].withdraw(int(amount))
        return f"Withdrew ${amount}."

    def _cmd_transfer(self, src: str, dst: str, amount: str) -> str:
        self.bank.transfer(src, dst, int(amount))
        return f"Moved ${amount} from {src} to {dst}."

    def step(self, action: str):
        self.steps += 1
        reward = 0.0
        message = "Unknown command."
        for pattern, method in self.PATTERNS:
            if m := pattern.match(action.strip().lower()):
                try:
                    message = getattr(self, method)(**m.groupdict())
                except BankError as exc:
                    message = f"ERROR ({type(exc).__name__}): {exc}"
                    reward -= 0.1
                break
        else:
            reward -= 0.05
        if {a.owner: a.balance for a in self.bank} == self.ticket.expected:
            reward += 1.0
            self.done_tickets += 1
            message += " Customer served!"
            if self.done_tickets < 3:
                self._next_ticket()
        terminated = self.done_tickets >= 3
        truncated = not terminated and self.steps >= self.MAX_STEPS
        return self._observe(message), reward, terminated, truncated, {"served": self.done_tickets}
