# seed: 17
# actions: [{"lockdown": 0, "vaccinate": 0}, {"lockdown": 1, "vaccinate": 0}, {"lockdown": 1, "vaccinate": 2}, {"lockdown": 2, "vaccinate": 1}, {"lockdown": 0, "vaccinate": 2}, {"lockdown": 0, "vaccinate": 2}, {"lockdown": 0, "vaccinate": 0}, {"lockdown": 1, "vaccinate": 1}]
# expect_total: -16.994 after 8 steps
from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Dict, Optional, Tuple

import gymnasium as gym
from gymnasium import spaces


@dataclass
class Compartments:
    susceptible: int
    exposed: int
    infected: int
    recovered: int

    @property
    def total(self) -> int:
        return sum(asdict(self).values())


@dataclass(frozen=True)
class EpidemicConfig:
    population: int = 10_000
    beta: float = 0.55
    sigma: float = 0.25
    gamma: float = 0.12
    weeks: int = 8
    lockdown_effect: Tuple[float, ...] = (1.0, 0.6, 0.3)
    lockdown_cost: Tuple[float, ...] = (0.0, 0.4, 1.2)
    vaccines: Tuple[int, ...] = (0, 200, 500)


class EpidemicEnv(gym.Env[Dict[str, Any], Dict[str, int]]):
    """SEIR epidemic with weekly decisions on lockdown level and vaccination."""

    def __init__(self, config: Optional[EpidemicConfig] = None) -> None:
        super().__init__()
        self.cfg = config or EpidemicConfig()
        self.action_space = spaces.Dict({"lockdown": spaces.Discrete(3), "vaccinate": spaces.Discrete(3)})
        n = self.cfg.population + 1
        self.observation_space = spaces.Dict({
            "week": spaces.Discrete(self.cfg.weeks + 1),
            "reported": spaces.Discrete(n),
            "recovered": spaces.Discrete(n),
        })

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None):
        super().reset(seed=seed)
        infected = int(self.np_random.integers(20, 80))
        self.state = Compartments(self.cfg.population - infected, 0, infected, 0)
        self.week = 0
        self.detection = float(self.np_random.uniform(0.4, 0.8))
        return self._obs(), {"population": self.state.total}

    def _obs(self) -> Dict[str, Any]:
        reported = int(self.np_random.binomial(self.state.infected, self.detection))
        return {"week": self.week, "reported": reported, "recovered": self.state.recovered}

    def _draw(self, n: int, rate: float) -> int:
        return int(self.np_random.binomial(n, 1.0 - math.exp(-rate)))

    def step(self, action: Dict[str, int]):
        level, shots = action["lockdown"], action["vaccinate"]
        s = self.state
        jabs = min(self.cfg.vaccines[shots], s.susceptible)
        s.susceptible -= jabs
        s.recovered += jabs
        new_cases = 0
        for _day in range(7):
            force = self.cfg.beta * self.cfg.lockdown_effect[level] * s.infected / self.cfg.population
            e, i, r = self._draw(s.susceptible, force), self._draw(s.exposed, self.cfg.sigma), self._draw(s.infected, self.cfg.gamma)
            s.susceptible -= e
            s.exposed += e - i
            s.infected += i - r
            s.recovered += r
            new_cases += i
        assert s.total == self.cfg.population
        self.week += 1
        reward = -new_cases / 500 - self.cfg.lockdown_cost[level] - 0.05 * shots
        terminated = s.infected == 0 and s.exposed == 0
        if terminated:
            reward += 5.0
        return self._obs(), reward, terminated, self.week >= self.cfg.weeks, {"new_cases": new_cases}
