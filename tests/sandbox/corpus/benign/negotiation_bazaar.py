# seed: 11
# actions: [{"type": "offer", "price": 40}, {"type": "offer", "price": 55}, {"type": "chat", "text": "Please, it is a gift."}, {"type": "offer", "price": 62}, {"type": "accept"}]
# expect_total: 0.0567 after 5 steps
"""Bargaining with a merchant whose reservation price is hidden."""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from typing import Any, Literal, Protocol, TypedDict, runtime_checkable


class Action(TypedDict, total=False):
    type: Literal["offer", "accept", "chat", "walk"]
    price: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The immutable terms of one round."""

    ask: float
    bid: float = 0.0
    round_no: int = 0

    def __post_init__(self) -> None:
        if self.ask <= 0:
            raise ValueError("ask must be positive")

    @property
    def gap(self) -> float:
        return self.ask - self.bid


@runtime_checkable
class Strategy(Protocol):
    """How a seller reacts to a bid."""

    def respond(self, terms: Terms) -> Terms: ...


@dataclass(slots=True)
class Conceder:
    reserve: float
    _: KW_ONLY
    rate: float = 0.3
    history: list[float] = field(default_factory=list, repr=False)

    def respond(self, terms: Terms) -> Terms:
        self.history.append(terms.bid)
        ask = max(self.reserve, terms.ask - self.rate * terms.gap)
        return replace(terms, ask=round(ask, 2), round_no=terms.round_no + 1)


@dataclass(slots=True)
class Stubborn(Conceder):
    patience: int = 2

    def respond(self, terms: Terms) -> Terms:
        if len(self.history) < self.patience:
            self.history.append(terms.bid)
            return replace(terms, round_no=terms.round_no + 1)
        return Conceder.respond(self, terms)


class BazaarEnv:
    MAX_ROUNDS: int = 8
    VALUE: float = 90.0

    def __init__(self) -> None:
        self.seller: Strategy | None = None
        self.terms: Terms | None = None

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[str, dict]:
        rng = random.Random(seed)
        reserve = round(rng.uniform(45, 60), 1)
        kind = rng.choice((Conceder, Stubborn))
        self.seller = kind(reserve, rate=0.35)
        assert isinstance(self.seller, Strategy)
        self.terms = Terms(ask=100.0)
        return self._describe(), {"seller": kind.__name__}

    def _describe(self) -> str:
        t = self.terms
        return f"Round {t.round_no}: the merchant asks {t.ask:.2f}; your last bid was {t.bid:.2f}."

    def step(self, action: Action) -> tuple[str, float, bool, bool, dict[str, Any]]:
        kind = action.get("type")
        reward, terminated = 0.0, False
        if kind == "accept":
            reward, terminated = self._surplus(self.terms.ask), True
        elif kind == "walk":
            terminated = True
        elif kind == "offer":
            bid = float(action["price"])
            if bid < self.terms.bid:
                reward = -0.05
            self.terms = self.seller.respond(replace(self.terms, bid=bid))
            if bid >= self.terms.ask:
                reward, terminated = self._surplus(bid), True
        else:
            reward = -0.01 if "please" not in action.get("text", "").lower() else 0.02
        truncated = self.terms.round_no >= self.MAX_ROUNDS
        return self._describe(), reward, terminated, truncated, {"terms": asdict(self.terms)}

    def _surplus(self, price: float) -> float:
        return round((self.VALUE - price) / self.VALUE, 4)


def _demo() -> None:
    env = BazaarEnv()
    print(env.reset(seed=1))
    done = False
    price = 30
    while not done:
        obs, r, term, trunc, info = env.step({"type": "offer", "price": price})
        price += 8
        done = term or trunc
        print(obs, r)


if __name__ == "__main__":
    _demo()
