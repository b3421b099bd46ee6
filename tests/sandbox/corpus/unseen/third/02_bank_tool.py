# seed: 11
# actions: ["{\"tool\": \"list_accounts\", \"args\": {\"owner\": \"Bruno\"}}", "{\"tool\": \"list_accounts\", \"args\": {\"owner\": \"Chen\"}}", "{\"tool\": \"transfer\", \"args\": {\"source\": \"S587\", \"target\": \"C196\", \"amount\": \"422.80\"}}", "{\"tool\": \"unfreeze\", \"args\": {\"account\": \"S587\", \"pin\": \"3050\"}}", "{\"tool\": \"balance\", \"args\": {\"acct\": \"S587\"}}", "{\"tool\": \"transfer\", \"args\": {\"source\": \"S587\", \"target\": \"C196\", \"amount\": \"422.80\"}}", "{\"tool\": \"finish\"}"]
# expect_total: 0.8 after 7 steps
"""Simulated bank API. The agent gets a task in plain language and calls tools with JSON arguments."""
import json
import random
from copy import deepcopy
from decimal import Decimal, InvalidOperation


class BankError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class InsufficientFunds(BankError):
    def __init__(self, account, needed):
        super().__init__("insufficient_funds", f"account {account} lacks {needed}")


class Bank:
    def __init__(self, accounts):
        self.accounts = accounts
        self.log = []

    def _get(self, account_id):
        try:
            return self.accounts[account_id]
        except KeyError:
            raise BankError("no_such_account", f"unknown account {account_id!r}") from None

    @staticmethod
    def _amount(raw):
        try:
            amount = Decimal(str(raw)).quantize(Decimal("0.01"))
        except InvalidOperation:
            raise BankError("bad_amount", f"cannot read amount {raw!r}")
        if amount <= 0:
            raise BankError("bad_amount", "amount must be positive")
        return amount

    def tool_list_accounts(self, owner=None):
        return [
            {"id": k, "owner": a["owner"], "type": a["type"]}
            for k, a in sorted(self.accounts.items())
            if owner is None or a["owner"].lower() == owner.lower()
        ]

    def tool_balance(self, account):
        return {"account": account, "balance": str(self._get(account)["balance"])}

    def tool_transfer(self, source, target, amount):
        src, dst, amt = self._get(source), self._get(target), self._amount(amount)
        if src["frozen"]:
            raise BankError("frozen", f"account {source} is frozen")
        if src["balance"] < amt:
            raise InsufficientFunds(source, amt - src["balance"])
        src["balance"] -= amt
        dst["balance"] += amt
        self.log.append((source, target, amt))
        return {"ok": True, "reference": f"TX{len(self.log):04d}"}

    def tool_unfreeze(self, account, pin):
        acc = self._get(account)
        if str(pin) != acc["pin"]:
            raise BankError("wrong_pin", "PIN rejected")
        acc["frozen"] = False
        return {"ok": True}


class Env:
    NAMES = ["Alice", "Bruno", "Chen", "Dalia"]
    LIMIT = 10

    def reset(self, seed=None):
        rng = random.Random(seed)
        accounts = {}
        for name in self.NAMES:
            for kind in ("checking", "savings"):
                aid = f"{kind[0].upper()}{rng.randint(100, 999)}"
                while aid in accounts:
                    aid = f"{kind[0].upper()}{rng.randint(100, 999)}"
                accounts[aid] = {
                    "owner": name,
                    "type": kind,
                    "balance": Decimal(rng.randint(2000, 90000)) / 100,
                    "frozen": False,
                    "pin": f"{rng.randrange(10000):04d}",
                }
        self.bank = Bank(accounts)
        payer, payee = rng.sample(self.NAMES, 2)
        source = next(k for k, a in accounts.items() if a["owner"] == payer and a["type"] == "savings")
        target = next(k for k, a in accounts.items() if a["owner"] == payee and a["type"] == "checking")
        accounts[source]["frozen"] = True
        amount = (accounts[source]["balance"] / 2).quantize(Decimal("0.01"))
        self.goal = deepcopy(accounts)
        self.goal[source]["balance"] -= amount
        self.goal[target]["balance"] += amount
        self.task = (
            f"Move {amount} from {payer}'s savings to {payee}'s checking account. "
            f"If the account is frozen, {payer}'s PIN is {accounts[source]['pin']}. Call 'finish' when done."
        )
        self.calls = 0
        self.errors = 0
        tools = "list_accounts(owner?), balance(account), transfer(source, target, amount), unfreeze(account, pin), finish()"
        return f"{self.task}\nTools: {tools}\nReply with JSON: {{\"tool\": ..., \"args\": {{...}}}}", {"limit": self.LIMIT}

    def _dispatch(self, action):
        try:
            call = json.loads(action)
        except json.JSONDecodeError as exc:
            raise BankError("bad_json", f"{exc.msg} at column {exc.colno}")
        if not isinstance(call, dict) or "tool" not in call:
            raise BankError("bad_call", "expected an object with 'tool' and 'args'")
        name, args = call["tool"], call.get("args", {})
        if name == "finish":
            return None
        method = getattr(self.bank, f"tool_{name}", None)
        if method is None:
            raise BankError("no_such_tool", f"there is no tool {name!r}")
        try:
            return method(**args)
        except TypeError:
            raise BankError("bad_arguments", f"wrong arguments for {name}: {sorted(args)}")

    def _success(self):
        return all(self.bank.accounts[k]["balance"] == g["balance"] for k, g in self.goal.items())

    def step(self, action):
        self.calls += 1
        reward, terminated = 0.0, False
        try:
            result = self._dispatch(action)
        except BankError as err:
            self.errors += 1
            reward = -0.05
            obs = json.dumps({"error": err.code, "message": str(err)})
        else:
            if result is None:
                terminated = True
                reward = 1.0 - 0.1 * max(0, self.calls - 6) if self._success() else -1.0
                obs = "Task finished."
            else:
                obs = json.dumps({"result": result})
        truncated = self.calls >= self.LIMIT and not terminated
        return obs, reward, terminated, truncated, {"calls": self.calls, "errors": self.errors}
