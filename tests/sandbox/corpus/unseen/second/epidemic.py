# seed: 61
# actions: [{"lockdown": 0.2, "vaccinate": 100}, {"lockdown": 0.5, "vaccinate": 200}, {"lockdown": 0.9, "vaccinate": 0}, {"lockdown": 0.0, "vaccinate": 500}, {"lockdown": 0.3, "vaccinate": 300}, {"lockdown": 1.4, "vaccinate": -5}, {"lockdown": 0.1, "vaccinate": 50}, {"lockdown": 0.0, "vaccinate": 0}]
# expect_total: -12.7 after 8 steps
from dataclasses import dataclass
from typing import Any, Dict, Optional, SupportsFloat, Tuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces


@dataclass
class DiseaseParams:
    beta: float = 0.35
    sigma: float = 1 / 4
    gamma: float = 1 / 7
    fatality: float = 0.01


class EpidemicEnv(gym.Env[Dict[str, Any], Dict[str, Any]]):
    """Stochastic SEIR model with weekly policy decisions."""

    metadata = {"render_modes": []}

    def __init__(self, population: int = 10_000, weeks: int = 8, params: Optional[DiseaseParams] = None):
        self.population = population
        self.weeks = weeks
        self.base_params = params or DiseaseParams()
        self.observation_space = spaces.Dict(
            {k: spaces.Box(0, population, shape=(), dtype=np.int64) for k in "SEIRD"}
        )
        self.action_space = spaces.Dict(
            {
                "lockdown": spaces.Box(0.0, 1.0, shape=(), dtype=np.float64),
                "vaccinate": spaces.Box(0, 500, shape=(), dtype=np.int64),
            }
        )

    def _obs(self) -> Dict[str, Any]:
        return {k: int(v) for k, v in zip("SEIRD", self.compartments)}

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None):
        super().reset(seed=seed)
        infected = int(self.np_random.integers(5, 30))
        self.compartments = np.array([self.population - infected, 0, infected, 0, 0], dtype=np.int64)
        self.beta = self.base_params.beta * self.np_random.uniform(0.8, 1.4)
        self.week = 0
        return self._obs(), {"week": 0}

    def _day(self, lockdown: float) -> int:
        s, e, i, r, d = self.compartments
        alive = max(1, s + e + i + r)
        force = self.beta * (1 - 0.8 * lockdown) * i / alive
        p_inf = 1 - np.exp(-force)
        p_onset = 1 - np.exp(-self.base_params.sigma)
        p_end = 1 - np.exp(-self.base_params.gamma)
        new_e = self.np_random.binomial(s, p_inf)
        new_i = self.np_random.binomial(e, p_onset)
        ended = self.np_random.binomial(i, p_end)
        dead = self.np_random.binomial(ended, self.base_params.fatality)
        self.compartments += np.array([-new_e, new_e - new_i, new_i - ended, ended - dead, dead])
        return int(dead)

    def step(self, action: Dict[str, Any]) -> Tuple[Dict[str, Any], SupportsFloat, bool, bool, Dict[str, Any]]:
        lockdown = float(np.clip(action["lockdown"], 0.0, 1.0))
        doses = int(np.clip(action["vaccinate"], 0, min(500, self.compartments[0])))
        self.compartments[0] -= doses
        self.compartments[3] += doses
        deaths = sum(self._day(lockdown) for _ in range(7))
        self.week += 1
        reward = -deaths - 2.0 * lockdown**2 - 0.002 * doses
        no_more_cases = self.compartments[1] + self.compartments[2] == 0
        info = {"week": self.week, "deaths": deaths, "beta": round(float(self.beta), 3)}
        return self._obs(), reward, bool(no_more_cases), self.week >= self.weeks, info
