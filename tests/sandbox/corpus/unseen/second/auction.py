# seed: 55
# actions: ["bid 12", "bid 30", "bid 5.5", "pass", "bid -4", "bid 45", "bid 20", "bid 18"]
# expect_total: -14.103001412204748 after 8 steps
"""Sealed-bid second-price auction environment."""
import logging
import random
import statistics
from typing import Dict, List, Optional, Tuple, Union

logger = logging.getLogger(__name__)


class Bidder:
    """Base class of the opponents."""

    name = "bidder"

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def bid(self, value: float, history: List[float]) -> float:
        raise NotImplementedError


class TruthfulBidder(Bidder):
    name = "truthful"

    def bid(self, value, history):
        return value


class ShadingBidder(Bidder):
    name = "shader"

    def bid(self, value, history):
        return value * self.rng.uniform(0.6, 0.9)


class AdaptiveBidder(Bidder):
    name = "adaptive"

    def bid(self, value, history):
        if not history:
            return value * 0.8
        return min(value, statistics.fmean(history[-3:]) + 1.0)


class AuctionEnv:
    def __init__(self, rounds: int = 7, budget: float = 100.0) -> None:
        self.rounds = rounds
        self.initial_budget = budget

    def reset(self, seed: Optional[int] = None) -> str:
        self.rng = random.Random(seed)
        self.opponents: List[Bidder] = [cls(self.rng) for cls in (TruthfulBidder, ShadingBidder, AdaptiveBidder)]
        self.budget = self.initial_budget
        self.round = 0
        self.history: List[float] = []
        self.items_won = 0
        self._next_item()
        logger.debug("reset with seed %s", seed)
        return self._observe("The auction begins.")

    def _next_item(self) -> None:
        self.common = self.rng.uniform(10, 40)
        self.my_value = round(self.common + self.rng.gauss(0, 4), 2)

    def _observe(self, message: str) -> str:
        lines = [message, f"Round {self.round + 1}/{self.rounds}", f"Your private value: {self.my_value:.2f}", f"Budget: {self.budget:.2f}"]
        if len(self.history) >= 2:
            lines.append(f"Past prices: mean {statistics.mean(self.history):.2f}, stdev {statistics.stdev(self.history):.2f}")
        return "\n".join(lines)

    @staticmethod
    def _parse(action: str) -> Union[float, None]:
        action = action.strip().lower()
        if action == "pass":
            return 0.0
        if action.startswith("bid"):
            try:
                amount = float(action[3:])
            except ValueError:
                return None
            return amount if amount >= 0 else None
        return None

    def step(self, action: str) -> Tuple[str, float, bool, Dict[str, object]]:
        amount = self._parse(action)
        if amount is None:
            logger.warning("bad bid: %r", action)
            return self._observe("Invalid bid."), -1.0, False, {"error": True}
        amount = min(amount, self.budget)
        bids = [("you", amount)]
        for opp in self.opponents:
            value = max(0.0, self.common + self.rng.gauss(0, 4))
            bids.append((opp.name, opp.bid(value, self.history)))
        bids.sort(key=lambda b: b[1], reverse=True)
        winner, price = bids[0][0], bids[1][1]
        reward = 0.0
        if winner == "you" and amount > 0:
            self.budget -= price
            reward = self.my_value - price
            self.items_won += 1
        self.history.append(price)
        self.round += 1
        done = self.round >= self.rounds or self.budget <= 0
        if not done:
            self._next_item()
        return self._observe(f"Winner: {winner} at {price:.2f}."), reward, done, {"items_won": self.items_won}
