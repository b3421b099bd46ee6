# seed: 33
# actions: ["catalog", "point 83.8 -5.4", "expose 30", "point 10.7 41.3", "expose 120", "wait 2", "expose 60", "identify M31", "identify M42", "point 400 0", "park"]
# expect_total: -1.4 after 11 steps
"""Observational astronomy planning environment."""
from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple


class Target(NamedTuple):
    name: str
    ra: float
    dec: float
    mag: float


CATALOG = (
    Target("M31", 10.68, 41.27, 3.4),
    Target("M42", 83.82, -5.39, 4.0),
    Target("M45", 56.75, 24.12, 1.6),
    Target("M13", 250.42, 36.46, 5.8),
    Target("M57", 283.40, 33.03, 8.8),
)


@dataclass
class Site:
    latitude: float
    longitude: float

    def altitude(self, t: Target, lst: float) -> float:
        """Altitude in degrees given the local sidereal time in degrees."""
        ha = math.radians(lst - t.ra)
        lat, dec = math.radians(self.latitude), math.radians(t.dec)
        return math.degrees(math.asin(math.sin(dec) * math.sin(lat) + math.cos(dec) * math.cos(lat) * math.cos(ha)))


def separation(ra1: float, dec1: float, ra2: float, dec2: float) -> float:
    a1, d1, a2, d2 = map(math.radians, (ra1, dec1, ra2, dec2))
    h = math.sin((d2 - d1) / 2) ** 2 + math.cos(d1) * math.cos(d2) * math.sin((a2 - a1) / 2) ** 2
    return math.degrees(2 * math.asin(min(1.0, math.sqrt(h))))


class TelescopeEnv:
    SIDEREAL_DEG_PER_HOUR = 15.041

    def reset(self, seed: int | None = None) -> tuple[str, dict]:
        self._rng = random.Random(seed)
        self.site = Site(latitude=self._rng.uniform(25, 50), longitude=self._rng.uniform(-20, 20))
        self.time = datetime(2024, 1, 1, 18, 0) + timedelta(days=self._rng.randrange(365))
        self.pointing: tuple[float, float] | None = None
        self.exposures: dict[str, float] = {}
        self.clouds = self._rng.random() * 0.4
        self.dawn = self.time + timedelta(hours=11)
        return f"Night of {self.time:%Y-%m-%d}. Latitude {self.site.latitude:.1f}. Clouds {self.clouds:.0%}.", {}

    @property
    def lst(self) -> float:
        days = (self.time - datetime(2000, 1, 1, 12)).total_seconds() / 86400
        return (280.46061837 + 360.98564736629 * days + self.site.longitude) % 360

    def step(self, action: str) -> tuple[str, float, bool, dict]:
        cmd, *args = action.split()
        reward = 0.0
        self.time += timedelta(minutes=5)
        try:
            nums = [float(a) for a in args] if cmd != "identify" else []
            if cmd == "catalog":
                obs = "\n".join(f"{t.name} alt={self.site.altitude(t, self.lst):+.1f} mag={t.mag}" for t in CATALOG)
            elif cmd == "point":
                ra, dec = nums
                if not (0 <= ra < 360 and -90 <= dec <= 90):
                    raise ValueError("coordinates out of range")
                self.pointing, obs = (ra, dec), "Slewing complete."
            elif cmd == "wait":
                self.time += timedelta(hours=nums[0])
                self.clouds = min(1.0, max(0.0, self.clouds + self._rng.gauss(0, 0.1)))
                obs = f"It is {self.time:%H:%M}, clouds {self.clouds:.0%}."
            elif cmd == "expose":
                if self.pointing is None:
                    raise ValueError("not pointing anywhere")
                self.time += timedelta(seconds=nums[0])
                near = min(CATALOG, key=lambda t: separation(*self.pointing, t.ra, t.dec))
                alt = self.site.altitude(near, self.lst)
                if separation(*self.pointing, near.ra, near.dec) > 0.5 or alt < 10:
                    obs = "The frame is empty."
                    reward = -0.1
                else:
                    snr = math.sqrt(nums[0]) * 10 ** (-0.1 * near.mag) * math.sin(math.radians(alt)) * (1 - self.clouds)
                    self.exposures[near.name] = max(snr, self.exposures.get(near.name, 0.0))
                    obs, reward = f"Signal to noise {snr:.2f}.", round(min(1.0, snr / 5), 4)
            elif cmd == "identify":
                found = args[0] in self.exposures
                obs, reward = ("Confirmed." if found else "No data on that object."), (0.5 if found else -0.5)
            elif cmd == "park":
                return "Dome closed.", 0.1 * len(self.exposures), True, {"exposures": dict(self.exposures)}
            else:
                raise ValueError(f"unknown command {cmd}")
        except (ValueError, IndexError) as e:
            obs, reward = f"Error: {e}", -0.1
        return obs, reward, self.time >= self.dawn, {"time": self.time.isoformat()}
