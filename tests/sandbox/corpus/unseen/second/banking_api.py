# seed: 1
# actions: [{"tool": "list_accounts", "arguments": {}}, {"tool": "get_balance", "arguments": {"account_id": "ACC-1001"}}, {"tool": "transfer", "arguments": {"source": "ACC-1001", "target": "ACC-1002", "amount": "25.50"}}, {"tool": "transfer", "arguments": {"source": "ACC-1001", "target": "ACC-1003"}}, {"tool": "close", "arguments": {}}, "{\"tool\": \"transfer\", \"arguments\": {\"source\": \"ACC-1002\", \"target\": \"ACC-1003\", \"amount\": \"10.00\"}}", {"tool": "finish", "arguments": {"summary": "done"}}]
# expect_total: 0.24923679060665357 after 7 steps
"""Banking tool-use environment with JSON-schema style tools."""
from __future__ import annotations

import json
import random
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, Dict, List

TOOLS: List[Dict[str, Any]] = [
    {
        "name": "list_accounts",
        "description": "List all account ids and owners.",
        "parameters": {"type": "object", "properties": {}, "required": []},
    },
    {
        "name": "get_balance",
        "description": "Return the balance of one account.",
        "parameters": {"type": "object", "properties": {"account_id": {"type": "string"}}, "required": ["account_id"]},
    },
    {
        "name": "transfer",
        "description": "Move money between two accounts.",
        "parameters": {
            "type": "object",
            "properties": {"source": {"type": "string"}, "target": {"type": "string"}, "amount": {"type": "string"}},
            "required": ["source", "target", "amount"],
        },
    },
    {
        "name": "finish",
        "description": "End the episode.",
        "parameters": {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]},
    },
]
TOOL_INDEX = {tool["name"]: tool for tool in TOOLS}
CENT = Decimal("0.01")


class ToolError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class BankingEnv:
    OWNERS = ("Maya Lopez", "Jun Tanaka", "Ola Nordmann")

    def reset(self, seed: int | None = None):
        rng = random.Random(seed)
        self.accounts = {
            f"ACC-{1001 + i}": {"owner": owner, "balance": Decimal(rng.randint(5000, 50000)) / 100}
            for i, owner in enumerate(self.OWNERS)
        }
        self.target = (Decimal(rng.randint(1000, 4000)) / 100).quantize(CENT, rounding=ROUND_HALF_UP)
        self.goal_account = "ACC-1003"
        self.goal_balance = self.accounts[self.goal_account]["balance"] + self.target
        self.turns = 0
        task = f"Increase the balance of {self.goal_account} by exactly {self.target}. Tools: {json.dumps(TOOLS)}"
        return task, {"tools": list(TOOL_INDEX)}

    def _call(self, name: str, args: Dict[str, Any]) -> Any:
        if name not in TOOL_INDEX:
            raise ToolError("unknown_tool", f"no tool called {name!r}")
        required = TOOL_INDEX[name]["parameters"]["required"]
        missing = [key for key in required if key not in args]
        if missing:
            raise ToolError("missing_argument", ", ".join(missing))
        return getattr(self, f"tool_{name}")(**args)

    def tool_list_accounts(self):
        return [{"id": k, "owner": v["owner"]} for k, v in self.accounts.items()]

    def tool_get_balance(self, account_id: str):
        try:
            return {"balance": str(self.accounts[account_id]["balance"])}
        except KeyError as exc:
            raise ToolError("not_found", account_id) from exc

    def tool_transfer(self, source: str, target: str, amount: str):
        try:
            value = Decimal(amount).quantize(CENT)
        except InvalidOperation:
            raise ToolError("bad_amount", amount)
        if value <= 0 or value > self.accounts[source]["balance"]:
            raise ToolError("insufficient_funds", str(value))
        self.accounts[source]["balance"] -= value
        self.accounts[target]["balance"] += value
        return {"ok": True, "moved": str(value)}

    def tool_finish(self, summary: str):
        return {"ok": True, "summary": summary}

    def step(self, action):
        self.turns += 1
        try:
            call = json.loads(action) if isinstance(action, str) else action
            name = call["tool"]
            result = self._call(name, call.get("arguments") or {})
        except (json.JSONDecodeError, KeyError, TypeError) as exc:
            return json.dumps({"error": "malformed_call", "detail": str(exc)}), -0.2, False, False, {}
        except ToolError as exc:
            return json.dumps({"error": exc.code, "detail": str(exc)}), -0.1, False, False, {}
        done = name == "finish"
        reward = -0.01
        if done:
            gap = abs(self.accounts[self.goal_account]["balance"] - self.goal_balance)
            reward = 1.0 if gap == 0 else max(0.0, 1.0 - float(gap / self.target))
        return json.dumps(result), reward, done, self.turns >= 15, {}
