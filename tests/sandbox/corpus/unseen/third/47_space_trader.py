# seed: 10
# actions: ["market", "buy 7 chips", "fly caladan", "sell all chips", "buy 12 food", "fly moon", "buy 2 chips", "fly belter", "sell all food", "sell 50 chips", "sell all chips", "buy 12 ore", "fly caladan", "sell all ore", "dance", "retire"]
# expect_total: 1.62 after 16 steps
"""Space trader: buy low, sell high between planets before the fuel runs out."""
import math
from types import SimpleNamespace

import numpy as np

GOODS = {"ore": 8, "food": 5, "chips": 20}


class Planet:
    def __init__(self, name, x, y, rng):
        self.name, self.x, self.y = name, x, y
        self.base = np.array(list(GOODS.values())) * rng.uniform(0.5, 1.6, size=len(GOODS))
        self.prices = {}
        self.refresh(rng)

    def refresh(self, rng):
        drift = 1 + rng.normal(0, 0.08, size=self.base.shape)
        quoted = np.clip(np.rint(self.base * drift), 1, None).astype(int)
        self.prices = dict(zip(GOODS, quoted.tolist()))

    def distance(self, other):
        return math.hypot(self.x - other.x, self.y - other.y)


class Ship(SimpleNamespace):
    @property
    def load(self):
        return sum(self.cargo.values())

    def worth(self, planet):
        return self.credits + sum(n * planet.prices[g] for g, n in self.cargo.items())


class Env:
    def reset(self, seed=None):
        self.rng = np.random.default_rng(seed)
        names = ["Arrakis", "Belter", "Caladan", "Dune"]
        self.planets = {n.lower(): Planet(n, *self.rng.integers(0, 10, size=2).tolist(), self.rng) for n in names}
        self.here = self.planets["arrakis"]
        self.ship = Ship(credits=100, fuel=30.0, cargo=dict.fromkeys(GOODS, 0), hold=12)
        self.t = 0
        self.value = 100
        return self._report("Welcome, trader."), {"worth": 100}

    def _report(self, msg):
        s = self.ship
        cargo = ", ".join(f"{n} {g}" for g, n in s.cargo.items() if n) or "empty"
        prices = ", ".join(f"{g} {p}" for g, p in self.here.prices.items())
        return f"{msg}\nAt {self.here.name} | credits {s.credits} | fuel {s.fuel:.1f} | hold {s.load}/{s.hold}: {cargo}\nPrices: {prices}"

    def _act_market(self, *_):
        rows = []
        for p in self.planets.values():
            rows.append(f"{p.name:<8} {self.here.distance(p):4.1f}ly  " + " ".join(f"{g}={v}" for g, v in p.prices.items()))
        return "\n".join(rows)

    def _act_buy(self, n, good):
        n = int(n)
        cost = n * self.here.prices[good]
        if n <= 0 or cost > self.ship.credits or self.ship.load + n > self.ship.hold:
            raise ValueError("cannot buy that much")
        self.ship.credits -= cost
        self.ship.cargo[good] += n
        return f"Bought {n} {good} for {cost}."

    def _act_sell(self, n, good):
        n = self.ship.cargo[good] if n == "all" else int(n)
        if not 0 < n <= self.ship.cargo[good]:
            raise ValueError("you do not have that")
        self.ship.cargo[good] -= n
        gain = n * self.here.prices[good]
        self.ship.credits += gain
        return f"Sold {n} {good} for {gain}."

    def _act_fly(self, name):
        dest = self.planets[name]
        need = self.here.distance(dest)
        if need > self.ship.fuel:
            raise ValueError(f"need {need:.1f} fuel")
        self.ship.fuel -= need
        self.here = dest
        for p in self.planets.values():
            p.refresh(self.rng)
        if self.rng.random() < 0.15:
            lost = max(self.ship.cargo, key=self.ship.cargo.get)
            taken = min(2, self.ship.cargo[lost])
            self.ship.cargo[lost] -= taken
            return f"Pirates! You lose {taken} {lost}."
        return f"You land on {dest.name}."

    def step(self, action):
        self.t += 1
        verb, *args = action.lower().split() or ["?"]
        if verb == "retire":
            profit = self.ship.credits - 100
            return self._report(f"You retire with a profit of {profit}."), profit / 100, True, False, {"profit": profit}
        try:
            msg = getattr(self, f"_act_{verb}")(*args)
            reward = 0.0
        except AttributeError:
            msg, reward = "Actions: market, buy N G, sell N G, fly PLANET, retire", -0.05
        except KeyError as e:
            msg, reward = f"Unknown name {e}.", -0.05
        except (ValueError, TypeError) as e:
            msg, reward = f"Refused: {e}.", -0.05
        return self._report(msg), reward, False, self.t >= 20, {"worth": self.ship.worth(self.here)}
