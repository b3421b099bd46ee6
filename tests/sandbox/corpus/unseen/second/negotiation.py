# seed: 33
# actions: ["propose books=2 hats=1 balls=1", "propose books=1 hats=1 balls=0", "chat I really need the hats", "propose hats=9", "propose books=0 hats=2 balls=1", "accept"]
# expect_total: 0.4428571428571429 after 6 steps
import random
import re
from typing import Dict, List, Optional, Tuple

ITEMS = ("books", "hats", "balls")


class Partner:
    """Opponent with its own private values and a concession schedule."""

    def __init__(self, values: Dict[str, int], pool: Dict[str, int]):
        self.values = values
        self.pool = pool
        self.threshold = 0.9

    def utility(self, share: Dict[str, int]) -> float:
        best = sum(self.values[i] * self.pool[i] for i in ITEMS)
        return sum(self.values[i] * share[i] for i in ITEMS) / best

    def consider(self, share: Dict[str, int]) -> bool:
        return self.utility(share) >= self.threshold

    def counter(self) -> Dict[str, int]:
        """Cheapest share that still meets the threshold, greedy on value."""
        share = {i: 0 for i in ITEMS}
        for item in sorted(ITEMS, key=lambda i: -self.values[i]):
            while share[item] < self.pool[item] and self.utility(share) < self.threshold:
                share[item] += 1
        return share

    def concede(self, amount: float = 0.12) -> None:
        self.threshold = max(0.3, self.threshold - amount)


class NegotiationEnv:
    """Deal-or-no-deal. You propose what YOU keep; the partner gets the rest."""

    def __init__(self, max_turns: int = 8):
        self.max_turns = max_turns
        self.transcript: List[str] = []
        self.offer: Optional[Dict[str, int]] = None

    def reset(self, seed: Optional[int] = None) -> str:
        rng = random.Random(seed)
        self.pool = {i: rng.randint(1, 3) for i in ITEMS}
        mine = [rng.randint(0, 5) for _ in ITEMS]
        theirs = [rng.randint(1, 5) for _ in ITEMS]
        self.values = dict(zip(ITEMS, mine))
        self.partner = Partner(dict(zip(ITEMS, theirs)), self.pool)
        self.transcript = []
        self.offer = None
        self.turn = 0
        return self.render()

    def render(self) -> str:
        pool = ", ".join(f"{n} {i}" for i, n in self.pool.items())
        vals = ", ".join(f"{i}: {v}" for i, v in self.values.items())
        return f"Pool: {pool}\nYour values: {vals}\n" + "\n".join(self.transcript[-6:])

    def my_score(self, keep: Dict[str, int]) -> float:
        best = sum(self.values[i] * self.pool[i] for i in ITEMS) or 1
        return sum(self.values[i] * keep[i] for i in ITEMS) / best

    def step(self, action: str) -> Tuple[str, float, bool, dict]:
        self.turn += 1
        self.transcript.append(f"You: {action}")
        reward, done, info = 0.0, False, {}
        kind = action.split(" ", 1)[0].lower()
        if kind == "propose":
            keep = {i: 0 for i in ITEMS}
            keep.update({k: int(v) for k, v in re.findall(r"(books|hats|balls)=(\d+)", action)})
            if any(keep[i] > self.pool[i] for i in ITEMS):
                self.transcript.append("System: not enough items.")
                reward = -0.1
            else:
                rest = {i: self.pool[i] - keep[i] for i in ITEMS}
                if self.partner.consider(rest):
                    self.transcript.append("Partner: Deal!")
                    reward, done, info = self.my_score(keep), True, {"deal": keep}
                else:
                    self.partner.concede()
                    self.offer = self.partner.counter()
                    self.transcript.append(f"Partner: No. I want {self.offer}.")
        elif kind == "accept":
            if self.offer is None:
                self.transcript.append("System: there is no offer.")
                reward = -0.1
            else:
                keep = {i: self.pool[i] - self.offer[i] for i in ITEMS}
                reward, done, info = self.my_score(keep), True, {"deal": keep}
        elif kind == "chat":
            self.partner.concede(0.05)
            self.transcript.append("Partner: I hear you.")
        else:
            reward = -0.1
        if not done and self.turn >= self.max_turns:
            done, info = True, {"deal": None}
        return self.render(), reward, done, info
