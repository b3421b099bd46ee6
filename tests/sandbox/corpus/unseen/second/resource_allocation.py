# seed: 21
# actions: [{"alpha": 4, "beta": 3, "gamma": 3}, {"alpha": 20}, {"alpha": 2, "beta": 5, "gamma": 1}, "hello", {"alpha": 1, "beta": 1, "gamma": 8}, {"beta": 10}, {"gamma": 4, "alpha": 6}]
# expect_total: 45.949 after 7 steps
"""Resource allocation across projects with diminishing returns."""
import math
import random
from typing import Any, Dict, NamedTuple, Tuple


class Project(NamedTuple):
    name: str
    scale: float
    saturation: float
    volatility: float

    def value(self, amount: float) -> float:
        return self.scale * (1.0 - math.exp(-amount / self.saturation))


class ResourceAllocationEnv:
    BUDGET = 10
    HORIZON = 6

    def __init__(self) -> None:
        self._rng: random.Random = random.Random(0)
        self.projects: Dict[str, Project] = {}
        self.quarter = 0
        self.history: list = []

    def reset(self, seed: int = 0) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        self._rng = random.Random(seed)
        self.projects = {
            name: Project(
                name=name,
                scale=self._rng.uniform(3, 9),
                saturation=self._rng.uniform(1.5, 6),
                volatility=self._rng.uniform(0.0, 0.3),
            )
            for name in ("alpha", "beta", "gamma")
        }
        self.quarter = 0
        self.history = []
        return self._observation("New fiscal plan."), {}

    def _observation(self, message: str) -> Dict[str, Any]:
        return {
            "message": message,
            "quarter": self.quarter,
            "budget": self.BUDGET,
            "projects": sorted(self.projects),
            "history": list(self.history[-3:]),
        }

    def step(self, action: Any):
        if not isinstance(action, dict):
            return self._observation("Action must map project names to amounts."), -1.0, False, False, {"valid": False}
        unknown = set(action) - set(self.projects)
        total = sum(float(v) for v in action.values())
        if unknown or total > self.BUDGET or any(v < 0 for v in action.values()):
            reason = f"unknown projects {sorted(unknown)}" if unknown else f"allocation of {total:g} exceeds {self.BUDGET}"
            return self._observation(f"Rejected: {reason}."), -0.5, False, False, {"valid": False}

        self.quarter += 1
        returns = {}
        for name, project in self.projects.items():
            base = project.value(float(action.get(name, 0)))
            noise = self._rng.gauss(0.0, project.volatility)
            returns[name] = round(max(0.0, base * (1 + noise)), 3)
        reward = sum(returns.values())
        self.history.append({"allocation": dict(action), "returns": returns})
        done = self.quarter >= self.HORIZON
        return self._observation("Returns are in."), reward, done, False, {"valid": True, "returns": returns}
