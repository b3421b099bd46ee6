# seed: 31
# actions: ["GET /users?limit=2", "GET /users/3", "GET /nowhere", "POST /orders {\"user_id\": 3, \"sku\": \"widget\", \"qty\": 2}", "POST /orders {\"user_id\": 3,", "AUTH token", "POST /orders {\"user_id\": 3, \"sku\": \"widget\", \"qty\": 2}", "POST /orders {\"user_id\": 3, \"sku\": \"widget\", \"qty\": 2}", "GET /orders?user_id=3&page=1", "DELETE /users/3", "PATCH /users/3 {\"email\": \"new@example.com\"}", "DONE"]
# expect_total: -0.3 after 12 steps
"""A simulated REST service with rate limits, auth and flaky upstreams."""
from __future__ import annotations

import json
import logging
import random
import uuid
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from typing import Any, Callable, Mapping, Optional
from urllib.parse import parse_qs, urlparse

logger = logging.getLogger(__name__)


@dataclass
class User:
    id: int
    name: str
    email: str


@dataclass
class Order:
    id: str
    user_id: int
    sku: str
    qty: int


@dataclass
class Response:
    status: HTTPStatus
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"HTTP {self.status.value} {self.status.phrase}\n{json.dumps(self.body, sort_keys=True)}"


class ApiError(Exception):
    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class ApiOrchestrationEnv:
    FLAKE_RATE = 0.25

    def reset(self, seed: Optional[int] = None) -> tuple[str, dict[str, Any]]:
        self.rng = random.Random(seed)
        names = ["ada", "grace", "alan", "edsger", "barbara"]
        self.rng.shuffle(names)
        self.users = {i: User(i, n, f"{n}@example.com") for i, n in enumerate(names, 1)}
        self.orders: list[Order] = []
        self.authorized = False
        self.calls = 0
        self.goal_user = self.rng.choice(list(self.users))
        self.routes: Mapping[tuple[str, str], Callable[..., Any]] = {
            ("GET", "users"): self._get_users,
            ("PATCH", "users"): self._patch_user,
            ("POST", "orders"): self._post_order,
            ("GET", "orders"): self._get_orders,
        }
        return (
            f"Task: order 2 widgets for user '{self.users[self.goal_user].name}' and set their email to "
            "new@example.com. Requests: METHOD /path?query {json}. Say DONE at the end."
        ), {}

    def step(self, action: str):
        self.calls += 1
        truncated = self.calls >= 20
        if action == "DONE":
            score = self._score()
            return f"Score {score:.2f}", score, True, truncated, {"orders": [asdict(o) for o in self.orders]}
        if action.startswith("AUTH"):
            self.authorized = True
            return "HTTP 200 OK\n{\"token\": \"ok\"}", 0.0, False, truncated, {}
        try:
            body = self._dispatch(action)
            resp = Response(HTTPStatus.CREATED if action.startswith("POST") else HTTPStatus.OK, body)
            reward = 0.05
        except ApiError as err:
            logger.debug("request failed: %s", err)
            resp = Response(err.status, {"error": str(err)})
            reward = 0.0 if err.status >= 500 else -0.1
        return str(resp), reward, False, truncated, {"status": int(resp.status)}

    def _dispatch(self, action: str) -> Any:
        method, _, rest = action.partition(" ")
        target, _, payload = rest.partition(" ")
        url = urlparse(target)
        query = {k: v[0] for k, v in parse_qs(url.query).items()}
        parts = url.path.strip("/").split("/")
        handler = self.routes.get((method, parts[0]))
        if handler is None:
            known = any(p == parts[0] for _, p in self.routes)
            raise ApiError(HTTPStatus.METHOD_NOT_ALLOWED if known else HTTPStatus.NOT_FOUND, f"no route {method} {url.path}")
        if method != "GET" and not self.authorized:
            raise ApiError(HTTPStatus.UNAUTHORIZED, "send AUTH first")
        if self.rng.random() < self.FLAKE_RATE:
            raise ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "upstream timeout, retry")
        try:
            data = json.loads(payload) if payload else {}
        except json.JSONDecodeError as exc:
            raise ApiError(HTTPStatus.BAD_REQUEST, f"bad JSON at {exc.pos}") from exc
        return handler(*parts[1:], query=query, data=data)

    def _user(self, uid: Any) -> User:
        try:
            return self.users[int(uid)]
        except (KeyError, ValueError):
            raise ApiError(HTTPStatus.NOT_FOUND, f"user {uid} not found") from None

    def _get_users(self, uid=None, *, query, data):
        if uid is not None:
            return asdict(self._user(uid))
        limit = int(query.get("limit", 10))
        return [asdict(u) for u in list(self.users.values())[:limit]]

    def _patch_user(self, uid=None, *, query, data):
        user = self._user(uid)
        for key, value in data.items():
            if not hasattr(user, key) or key == "id":
                raise ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, f"cannot set {key}")
            setattr(user, key, value)
        return asdict(user)

    def _post_order(self, *, query, data):
        self._user(data.get("user_id"))
        order = Order(id=str(uuid.UUID(int=self.rng.getrandbits(128), version=4)), **data)
        self.orders.append(order)
        return asdict(order)

    def _get_orders(self, *, query, data):
        uid = query.get("user_id")
        return [asdict(o) for o in self.orders if uid is None or o.user_id == int(uid)]

    def _score(self) -> float:
        mine = [o for o in self.orders if o.user_id == self.goal_user and o.sku == "widget"]
        score = 1.0 if len(mine) == 1 and mine[0].qty == 2 else 0.0
        score += self.users[self.goal_user].email == "new@example.com"
        return float(score) - 0.2 * (len(self.orders) - len(mine))
