# seed: 71
# actions: ["status", "burn prograde 50", "coast 1", "burn retrograde 10", "circularize", "coast 0.5", "burn sideways 3", "transfer", "coast 0.5", "circularize", "status"]
# expect_total: 3.294584264486845 after 10 steps
"""Orbit transfer environment. Units: km, s, km/s internally; delta-v commands in m/s."""
from __future__ import annotations

import math
import random
from dataclasses import dataclass

MU = 398_600.4418
EARTH_RADIUS = 6_378.137
TWO_PI = math.tau


@dataclass
class Orbit:
    perigee: float
    apogee: float
    anomaly: float = 0.0  # 0 at perigee, pi at apogee

    @property
    def a(self) -> float:
        return (self.perigee + self.apogee) / 2

    @property
    def e(self) -> float:
        return (self.apogee - self.perigee) / (self.apogee + self.perigee)

    @property
    def period(self) -> float:
        return TWO_PI * math.sqrt(self.a**3 / MU)

    @property
    def radius(self) -> float:
        return self.a * (1 - self.e**2) / (1 + self.e * math.cos(self.anomaly))

    def speed(self) -> float:
        return math.sqrt(MU * (2 / self.radius - 1 / self.a))

    def at_apsis(self) -> bool:
        return math.isclose(math.sin(self.anomaly), 0.0, abs_tol=1e-6)

    def burn(self, dv_km_s: float) -> "Orbit":
        r = self.radius
        v = self.speed() + dv_km_s
        energy = v * v / 2 - MU / r
        if energy >= 0:
            raise ValueError("escape trajectory")
        a = -MU / (2 * energy)
        other = 2 * a - r
        if other >= r:
            return Orbit(r, other, 0.0)
        return Orbit(other, r, math.pi)

    def coast(self, fraction: float) -> "Orbit":
        mean = self._mean() + TWO_PI * fraction
        ecc = mean
        for _ in range(30):
            ecc -= (ecc - self.e * math.sin(ecc) - mean) / (1 - self.e * math.cos(ecc))
        nu = 2 * math.atan2(math.sqrt(1 + self.e) * math.sin(ecc / 2), math.sqrt(1 - self.e) * math.cos(ecc / 2))
        return Orbit(self.perigee, self.apogee, nu % TWO_PI)

    def _mean(self) -> float:
        ecc = 2 * math.atan(math.sqrt((1 - self.e) / (1 + self.e)) * math.tan(self.anomaly / 2))
        return ecc - self.e * math.sin(ecc)


class OrbitTransferEnv:
    def __init__(self, fuel_dv: float = 4000.0, max_steps: int = 20) -> None:
        self.fuel_dv = fuel_dv
        self.max_steps = max_steps

    def reset(self, seed: int | None = None):
        rng = random.Random(seed)
        start = EARTH_RADIUS + rng.uniform(250, 600)
        self.target = EARTH_RADIUS + rng.uniform(1200, 9000)
        self.orbit = Orbit(start, start)
        self.fuel = self.fuel_dv
        self.steps = 0
        return self._report("Mission start."), {"target_altitude": self.target - EARTH_RADIUS}

    def _report(self, msg: str) -> str:
        o = self.orbit
        return (
            f"{msg}\nperigee {o.perigee - EARTH_RADIUS:,.1f} km, apogee {o.apogee - EARTH_RADIUS:,.1f} km, "
            f"period {o.period / 60:.1f} min, fuel {self.fuel:.0f} m/s, target {self.target - EARTH_RADIUS:,.0f} km"
        )

    def _error(self) -> float:
        return (abs(self.orbit.perigee - self.target) + abs(self.orbit.apogee - self.target)) / self.target

    def _spend(self, dv: float) -> None:
        if abs(dv) > self.fuel:
            raise ValueError("not enough fuel")
        self.orbit = self.orbit.burn(dv / 1000)
        self.fuel -= abs(dv)

    def step(self, action: str):
        self.steps += 1
        before = self._error()
        words = action.split()
        msg = "Done."
        try:
            if words[0] == "burn":
                sign = {"prograde": 1, "retrograde": -1}[words[1]]
                self._spend(sign * float(words[2]))
            elif words[0] == "coast":
                self.orbit = self.orbit.coast(float(words[1]))
            elif words[0] == "circularize":
                if not self.orbit.at_apsis():
                    raise ValueError("only at an apsis")
                v_circ = math.sqrt(MU / self.orbit.radius)
                self._spend((v_circ - self.orbit.speed()) * 1000)
            elif words[0] == "transfer":
                r = self.orbit.radius
                v = math.sqrt(MU * (2 / r - 2 / (r + self.target)))
                self._spend((v - self.orbit.speed()) * 1000)
            elif words[0] != "status":
                raise ValueError("unknown command")
        except (ValueError, KeyError, IndexError) as err:
            return self._report(f"Command failed: {err}"), -0.1, False, self.steps >= self.max_steps, {}
        after = self._error()
        crashed = self.orbit.perigee < EARTH_RADIUS + 100
        reached = after < 0.02
        reward = before - after - 5.0 * crashed + (2.0 + self.fuel / self.fuel_dv) * reached
        return self._report(msg), reward, crashed or reached, self.steps >= self.max_steps, {"error": after}
