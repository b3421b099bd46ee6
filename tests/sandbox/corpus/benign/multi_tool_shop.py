# seed: 30
# actions: ["Let me look.\n<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \"mug\", \"limit\": 2}}\n</tool_call>\n<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \"tea\"}}\n</tool_call>", "<tool_call>{\"name\": \"add_to_cart\", \"arguments\": {\"sku\": \"mug-1\", \"quantity\": 2}}</tool_call><tool_call>{\"name\": \"add_to_cart\", \"arguments\": {\"sku\": \"tea-9\"}}</tool_call>", "<tool_call>{\"name\": \"apply_coupon\", \"arguments\": {\"code\": 5}}</tool_call>", "<tool_call>{broken</tool_call>", "<tool_call>{\"name\": \"add_to_cart\", \"arguments\": {\"sku\": \"tea-0\"}}</tool_call><tool_call>{\"name\": \"apply_coupon\", \"arguments\": {\"code\": \"SAVE10\"}}</tool_call>", "<tool_call>{\"name\": \"checkout\", \"arguments\": {}}</tool_call>"]
# expect_total: 1.5675 after 6 steps
"""
MultiToolShop: an LLM agent buys items under a budget by calling tools.

Features
- Tools are described by JSON schemas that are generated from method signatures.
- Several <tool_call> blocks per turn are allowed.
- Rewards are shaped per call.
"""

import inspect
import json
import random
import re
from typing import Any, Callable, Dict, List, Literal, Optional, Union, get_args, get_origin, get_type_hints


JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def tool(fn: Callable) -> Callable:
    """Mark a method as a tool."""
    fn.is_tool = True
    return fn


def schema_of(fn: Callable) -> Dict[str, Any]:
    hints = get_type_hints(fn)
    hints.pop("return", None)
    props, required = {}, []
    for name, param in inspect.signature(fn).parameters.items():
        if name == "self":
            continue
        hint = hints[name]
        if get_origin(hint) is Union:
            hint = get_args(hint)[0]
        if get_origin(hint) is Literal:
            props[name] = {"type": "string", "enum": list(get_args(hint))}
        else:
            props[name] = {"type": JSON_TYPES[hint]}
        if param.default is param.empty:
            required.append(name)
    return {
        "name": fn.__name__,
        "description": inspect.getdoc(fn),
        "parameters": {"type": "object", "properties": props, "required": required},
    }


def validate(schema: Dict[str, Any], args: Dict[str, Any]) -> List[str]:
    problems = []
    spec = schema["parameters"]
    for key in spec["required"]:
        if key not in args:
            problems.append(f"missing '{key}'")
    back = {v: k for k, v in JSON_TYPES.items()}
    for key, value in args.items():
        if key not in spec["properties"]:
            problems.append(f"unexpected '{key}'")
        elif not isinstance(value, back[spec["properties"][key]["type"]]):
            problems.append(f"'{key}' must be a {spec['properties'][key]['type']}")
    return problems


class ShopEnv:
    """Buy 2 mugs and 1 tea for at most the budget."""

    CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.S)

    def __init__(self, max_turns: int = 8):
        self.max_turns = max_turns
        self.tools: Dict[str, Callable] = {}
        for name in dir(self):
            if name.startswith("_"):
                continue
            member = getattr(type(self), name, None)
            if getattr(member, "is_tool", False):
                self.tools[name] = getattr(self, name)
        self.schemas = {n: schema_of(f) for n, f in self.tools.items()}

    def reset(self, seed: Optional[int] = None):
        rng = random.Random(seed)
        self.catalog = {f"{kind}-{i}": rng.randint(3, 12) for kind in ("mug", "tea") for i in range(3)}
        self.cart: Dict[str, int] = {}
        self.discount = 0.0
        self.turn = 0
        self.done = False
        self.budget = 40
        return {"task": self.__doc__, "tools": json.dumps(list(self.schemas.values())), "budget": self.budget}

    @tool
    def search(self, query: str, limit: int = 5) -> List[Dict[str, Any]]:
        """Find items by name."""
        found = [{"sku": s, "price": p} for s, p in self.catalog.items() if query.lower() in s]
        return sorted(found, key=lambda d: (d["price"], d["sku"]))[:limit]

    @tool
    def add_to_cart(self, sku: str, quantity: Optional[int] = 1) -> Dict[str, int]:
        """Put an item into the cart."""
        if sku not in self.catalog:
            raise LookupError(f"no item {sku}")
        self.cart[sku] = self.cart.get(sku, 0) + quantity
        return self.cart

    @tool
    def apply_coupon(self, code: str) -> str:
        """Apply a coupon code."""
        m = re.fullmatch(r"SAVE(\d{1,2})", code)
        self.discount = int(m[1]) / 100 if m else 0.0
        return f"{self.discount:.0%} off"

    @tool
    def checkout(self) -> float:
        """Pay and finish."""
        self.done = True
        return round(sum(self.catalog[s] * n for s, n in self.cart.items()) * (1 - self.discount), 2)

    def _call(self, text: str):
        try:
            call = json.loads(text)
            name, args = call["name"], call.get("arguments") or {}
        except (ValueError, KeyError, TypeError):
            return {"error": "malformed call"}, -0.2
        if name not in self.tools:
            return {"error": f"unknown tool {name}"}, -0.2
        if problems := validate(self.schemas[name], args):
            return {"error": "; ".join(problems)}, -0.1
        try:
            return {"result": self.tools[name](**args)}, 0.05
        except LookupError as e:
            return {"error": str(e)}, -0.05

    def step(self, action: str):
        self.turn += 1
        outcomes = [self._call(block) for block in self.CALL.findall(action)]
        reward = sum(r for _, r in outcomes) if outcomes else -0.3
        if self.done:
            cost = outcomes[-1][0]["result"]
            have = {k: sum(n for s, n in self.cart.items() if s.startswith(k)) for k in ("mug", "tea")}
            complete = have == {"mug": 2, "tea": 1}
            reward += (1 + (self.budget - cost) / self.budget) if complete and cost <= self.budget else -0.5
        return json.dumps([o for o, _ in outcomes]), reward, self.done or self.turn >= self.max_turns
