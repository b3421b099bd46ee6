# seed: 100
# actions: ["buy ACME 10", "hold", "buy BETA 5", "sell ACME 4", "sell GOOG 1", "hold", "buy ACME 9999", "sell ACME 6", "hold", "sell BETA 5", "hold", "hold"]
# expect_total: -0.44907939876139136 after 12 steps
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass
class MarketConfig:
    tickers: tuple[str, ...] = ("ACME", "BETA", "CORP")
    horizon: int = 12
    initial_cash: float = 1_000.0
    fee_rate: float = 0.001
    drift: float = 0.0005
    window: int = 5


@dataclass
class Portfolio:
    cash: float
    shares: dict[str, int] = field(default_factory=dict)

    def value(self, prices: dict[str, float]) -> float:
        return self.cash + sum(n * prices[t] for t, n in self.shares.items())


class StockTradingEnv:
    """Correlated geometric Brownian motion prices; reward is the log-return of the portfolio."""

    def __init__(self, config: MarketConfig | None = None) -> None:
        self.config = config or MarketConfig()
        self.rng = np.random.default_rng()

    def _simulate_prices(self) -> FloatArray:
        cfg = self.config
        k = len(cfg.tickers)
        A = self.rng.normal(size=(k, k)) * 0.3
        cov = (A @ A.T + np.eye(k)) * 1e-4
        L = np.linalg.cholesky(cov)
        shocks = self.rng.standard_normal((cfg.horizon + cfg.window, k)) @ L.T
        log_p = np.cumsum(cfg.drift + shocks, axis=0)
        start = self.rng.uniform(20, 80, size=k)
        return start * np.exp(log_p)

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        self.rng = np.random.default_rng(seed)
        self.prices = self._simulate_prices()
        self.t = self.config.window
        self.portfolio = Portfolio(cash=self.config.initial_cash, shares={t: 0 for t in self.config.tickers})
        return self._obs(), {}

    def _price_map(self) -> dict[str, float]:
        row = self.prices[min(self.t, len(self.prices) - 1)]
        return dict(zip(self.config.tickers, row.tolist()))

    def _obs(self, note: str = "") -> str:
        recent = self.prices[self.t - self.config.window : self.t]
        returns = np.diff(np.log(recent), axis=0)
        mom, vol = returns.mean(axis=0), returns.std(axis=0, ddof=1)
        rows = [
            f"{t:<5} price={p:8.2f} momentum={m:+.4f} vol={v:.4f} held={self.portfolio.shares[t]}"
            for (t, p), m, v in zip(self._price_map().items(), mom, vol)
        ]
        return "\n".join(filter(None, [note, f"cash={self.portfolio.cash:.2f}", *rows]))

    def _execute(self, action: str) -> str:
        match action.split():
            case ["hold"]:
                return ""
            case ["buy" | "sell" as side, ticker, qty] if ticker in self.config.tickers and qty.isdecimal():
                n = int(qty)
                notional = n * self._price_map()[ticker]
                fee = notional * self.config.fee_rate
                if side == "buy":
                    if notional + fee > self.portfolio.cash:
                        return "Insufficient cash."
                    self.portfolio.cash -= notional + fee
                    self.portfolio.shares[ticker] += n
                else:
                    if self.portfolio.shares[ticker] < n:
                        return "Not enough shares."
                    self.portfolio.cash += notional - fee
                    self.portfolio.shares[ticker] -= n
                return f"{side} {n} {ticker} filled."
            case _:
                return "Invalid order."

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        before = self.portfolio.value(self._price_map())
        note = self._execute(action)
        self.t += 1
        after = self.portfolio.value(self._price_map())
        reward = float(np.log(after / before)) * 100
        terminated = self.t >= len(self.prices)
        return self._obs(note), reward, terminated, False, {"value": after}
