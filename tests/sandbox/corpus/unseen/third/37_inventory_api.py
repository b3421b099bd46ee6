# seed: 7
# actions: ["GET /items", "GET /orders", "DELETE /orders", "POST /items/gear-20t/restock {\"qty\": \"two\"}", "POST /items/gear-20t/restock {\"qty\": 2}", "POST /orders/1/ship", "POST /orders/2/ship", "POST /items/belt-6mm/restock {\"qty\": 1", "POST /items/belt-6mm/restock {\"qty\": 1}", "GET /nothing", "POST /items/bolt-m4/restock {\"qty\": 2}", "POST /orders/2/ship {}", "GET /items/bolt-m4", "POST /orders/3/ship"]
# expect_total: 2.35 after 14 steps
"""Warehouse REST-like API: fulfil customer orders by calling endpoints with JSON bodies."""
import copy
import json
import random
import re
from collections import Counter, OrderedDict, namedtuple
from typing import Any

Response = namedtuple("Response", "status body")

_ROUTES: list[tuple[str, re.Pattern, Any]] = []


def route(method: str, pattern: str):
    """Register a handler for METHOD /path/<param>."""
    regex = re.compile("^" + re.sub(r"<(\w+)>", r"(?P<\1>[\\w-]+)", pattern) + "$")

    def decorator(func):
        _ROUTES.append((method, regex, func))
        return func

    return decorator


class HTTPError(Exception):
    def __init__(self, status, message):
        self.status = status
        self.message = message


class Warehouse:
    def __init__(self, rng):
        self.stock = OrderedDict(
            (sku, {"sku": sku, "qty": rng.randint(0, 6), "price": rng.randint(2, 20)})
            for sku in ("bolt-m4", "nut-m4", "gear-20t", "belt-6mm")
        )
        self.cash = 60
        self.orders = {}
        for n in range(1, 4):
            wanted = Counter(rng.choices(list(self.stock), k=rng.randint(2, 4)))
            self.orders[str(n)] = {"id": n, "lines": dict(sorted(wanted.items())), "status": "open"}

    def item(self, sku):
        if sku not in self.stock:
            raise HTTPError(404, f"no such sku {sku}")
        return self.stock[sku]

    @route("GET", "/items")
    def list_items(self, body):
        return Response(200, list(copy.deepcopy(self.stock).values()))

    @route("GET", "/items/<sku>")
    def get_item(self, body, sku):
        return Response(200, dict(self.item(sku)))

    @route("POST", "/items/<sku>/restock")
    def restock(self, body, sku):
        item = self.item(sku)
        qty = body.get("qty")
        if not isinstance(qty, int) or qty < 1:
            raise HTTPError(422, "qty must be a positive integer")
        cost = qty * max(1, item["price"] // 2)
        if cost > self.cash:
            raise HTTPError(402, f"cost {cost} exceeds cash {self.cash}")
        self.cash -= cost
        item["qty"] += qty
        return Response(201, {"cost": cost, "cash": self.cash, "qty": item["qty"]})

    @route("GET", "/orders")
    def list_orders(self, body):
        return Response(200, [o for o in self.orders.values() if o["status"] == "open"])

    @route("POST", "/orders/<oid>/ship")
    def ship(self, body, oid):
        order = self.orders.get(oid)
        if order is None:
            raise HTTPError(404, "no such order")
        if order["status"] != "open":
            raise HTTPError(409, "order already shipped")
        missing = {s: n - self.stock[s]["qty"] for s, n in order["lines"].items() if n > self.stock[s]["qty"]}
        if missing:
            raise HTTPError(409, {"missing": missing})
        for sku, n in order["lines"].items():
            self.stock[sku]["qty"] -= n
        income = sum(self.stock[s]["price"] * n for s, n in order["lines"].items())
        self.cash += income
        order["status"] = "shipped"
        return Response(200, {"income": income, "cash": self.cash})


class Env:
    max_calls = 20

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.wh = Warehouse(self.rng)
        self.calls = 0
        doc = "\n".join(f"  {m} {rx.pattern.strip('^$')}" for m, rx, _ in _ROUTES)
        return f"Ship all orders. Restocking costs half the price. Endpoints:\n{doc}\nFormat: METHOD /path {{json}}", {"cash": self.wh.cash}

    def _dispatch(self, action):
        method, _, rest = action.strip().partition(" ")
        path, _, raw = rest.strip().partition(" ")
        try:
            body = json.loads(raw) if raw.strip() else {}
        except ValueError:
            return Response(400, {"error": "malformed JSON body"})
        allowed = set()
        for m, rx, handler in _ROUTES:
            found = rx.fullmatch(path)
            if not found:
                continue
            if m != method.upper():
                allowed.add(m)
                continue
            try:
                return handler(self.wh, body, **found.groupdict())
            except HTTPError as e:
                return Response(e.status, {"error": e.message})
        if allowed:
            return Response(405, {"error": "method not allowed", "allow": sorted(allowed)})
        return Response(404, {"error": "not found"})

    def step(self, action):
        self.calls += 1
        cash = self.wh.cash
        resp = self._dispatch(action)
        if resp.status >= 400:
            reward = -0.1
        elif "/ship" in action:
            reward = 1.0
        else:
            reward = min(0, (self.wh.cash - cash)) / 200
        done = all(o["status"] == "shipped" for o in self.wh.orders.values())
        return f"HTTP {resp.status}\n{json.dumps(resp.body)}", reward, done, self.calls >= self.max_calls, {"status": resp.status, "cash": self.wh.cash}
