# seed: 19
# actions: ["{\"method\": \"GET\", \"path\": \"/items\"}", "{\"method\": \"GET\", \"path\": \"/items/NO-00\"}", "GET /items", "{\"method\": \"PATCH\", \"path\": \"/items/BO-47\", \"body\": {\"quantity\": -3}}", "{\"method\": \"PATCH\", \"path\": \"/items/BO-47\", \"body\": {\"colour\": 1, \"size\": 2}}", "{\"method\": \"PATCH\", \"path\": \"/items/BR-86\", \"body\": {\"quantity\": 10}}", "{\"method\": \"PATCH\", \"path\": \"/items/HI-44\", \"body\": {\"quantity\": 10}}", "{\"method\": \"POST\", \"path\": \"/close\"}"]
# expect_total: 1.0 after 8 steps
"""Warehouse API with pydantic-less validation: JSON requests with method, path and body."""
import json
import random
from dataclasses import dataclass, field
from typing import Any, Callable, ClassVar


class HTTPError(Exception):
    def __init__(self, status: int, detail: str):
        self.status = status
        self.detail = detail
        super().__init__(f"{status} {detail}")


@dataclass
class Item:
    sku: str
    name: str
    quantity: int
    price_cents: int
    tags: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {"sku": self.sku, "name": self.name, "quantity": self.quantity, "price": self.price_cents / 100}


class Router:
    def __init__(self):
        self.routes: list[tuple[str, list[str], Callable]] = []

    def route(self, method: str, pattern: str):
        def decorator(fn):
            self.routes.append((method, pattern.strip("/").split("/"), fn))
            return fn

        return decorator

    def resolve(self, method: str, path: str):
        parts = path.strip("/").split("/")
        for m, pattern, fn in self.routes:
            if m != method or len(pattern) != len(parts):
                continue
            params = {}
            for want, got in zip(pattern, parts):
                if want.startswith("{"):
                    params[want[1:-1]] = got
                elif want != got:
                    break
            else:
                return fn, params
        raise HTTPError(404, f"no route {method} {path}")


router = Router()


class Env:
    NAMES: ClassVar[tuple[str, ...]] = ("bolt", "nut", "washer", "hinge", "bracket", "screw")
    MAX_CALLS: ClassVar[int] = 12

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.items: dict[str, Item] = {}
        for name in rng.sample(self.NAMES, 5):
            sku = f"{name[:2].upper()}-{rng.randint(10, 99)}"
            self.items[sku] = Item(sku, name, rng.randint(0, 12), rng.randint(5, 400))
        self.minimum = 5
        self.initial_low = {s for s, it in self.items.items() if it.quantity < self.minimum}
        self.calls = 0
        obs = (
            f"Restock every item with fewer than {self.minimum} pieces to exactly 10, then POST /close.\n"
            "Routes: GET /items, GET /items/{sku}, PATCH /items/{sku} with body {\"quantity\": N}, POST /close\n"
            'Send {"method": "...", "path": "...", "body": {...}}'
        )
        return obs, {"n_items": len(self.items)}

    @router.route("GET", "/items")
    def list_items(self, body):
        return 200, [it.to_json() for it in sorted(self.items.values(), key=lambda i: i.sku)], 0.0

    @router.route("GET", "/items/{sku}")
    def get_item(self, body, sku):
        return 200, self._find(sku).to_json(), 0.0

    @router.route("PATCH", "/items/{sku}")
    def patch_item(self, body, sku):
        item = self._find(sku)
        unknown = set(body) - {"quantity", "price"}
        if unknown:
            raise HTTPError(422, f"unknown fields: {', '.join(sorted(unknown))}")
        quantity = body.get("quantity", item.quantity)
        if isinstance(quantity, bool) or not isinstance(quantity, int) or quantity < 0:
            raise HTTPError(422, "quantity must be a non-negative integer")
        useful = item.quantity < self.minimum and quantity == 10
        item.quantity = quantity
        return 200, item.to_json(), 0.2 if useful else -0.2

    @router.route("POST", "/close")
    def close(self, body):
        ok = all(self.items[s].quantity == 10 for s in self.initial_low)
        ok = ok and all(it.quantity >= self.minimum for it in self.items.values())
        return 201, {"closed": True, "complete": ok}, 1.0 if ok else -1.0

    def _find(self, sku):
        if sku not in self.items:
            raise HTTPError(404, f"no item {sku}")
        return self.items[sku]

    def step(self, action):
        self.calls += 1
        terminated = False
        try:
            try:
                req = json.loads(action)
                method, path, body = req["method"], req["path"], req.get("body") or {}
            except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as e:
                raise HTTPError(400, f"{type(e).__name__}: bad request") from e
            handler, params = router.resolve(method, path)
            status, payload, reward = handler(self, body, **params)
            terminated = status == 201
        except HTTPError as e:
            status, payload, reward = e.status, {"detail": e.detail}, -0.1
        obs = f"HTTP {status}\n{json.dumps(payload, indent=2, sort_keys=True)}"
        return obs, reward, terminated, self.calls >= self.MAX_CALLS and not terminated, {"status": status, "calls": self.calls}
