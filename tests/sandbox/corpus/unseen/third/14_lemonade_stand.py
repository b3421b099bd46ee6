# seed: 15
# actions: ["buy lemons 8", "buy sugar 4", "buy cups 40", "open 1.20", "sell all", "buy lemons 6", "buy sugar 4", "open $1", "open 0.9", "buy lemons ten", "buy lemons 9", "buy sugar 3", "open 1.5", "open 1.25", "buy lemons 400", "buy cups 20", "open 0.80", "buy lemons 5", "open 1.1"]
# expect_total: 3.76 after 19 steps
import random
from dataclasses import dataclass, asdict, replace
from enum import Enum, auto


class Weather(Enum):
    SUNNY = auto()
    CLOUDY = auto()
    RAINY = auto()

    @property
    def demand(self):
        return {Weather.SUNNY: 24, Weather.CLOUDY: 14, Weather.RAINY: 6}[self]


TRANSITIONS = {
    Weather.SUNNY: (0.6, 0.3, 0.1),
    Weather.CLOUDY: (0.3, 0.4, 0.3),
    Weather.RAINY: (0.2, 0.4, 0.4),
}


@dataclass(frozen=True)
class Stand:
    money: float = 20.0
    lemons: int = 0
    sugar: int = 0
    cups: int = 0

    def can_make(self):
        return min(self.lemons * 2, self.sugar * 4, self.cups)


PRICES = {"lemons": 0.5, "sugar": 0.6, "cups": 0.1}


class Env:
    """Run a lemonade stand for seven days.

    Actions:
      buy ITEM AMOUNT      (lemons, sugar, cups)
      open PRICE           sells for the day at PRICE and moves to the next day
    """

    days = 7

    def reset(self, seed=None):
        self._rng = random.Random(seed)
        self.stand = Stand()
        self.day = 1
        self.weather = self._rng.choice(list(Weather))
        self.forecast = self._next_weather()
        self.actions_today = 0
        return self._observe(), asdict(self.stand)

    def _next_weather(self):
        [w] = self._rng.choices(list(Weather), weights=TRANSITIONS[self.weather])
        return w

    def _observe(self, *notes):
        s = self.stand
        lines = list(notes)
        if self.day <= self.days:
            lines.append(f"Day {self.day} of {self.days}. Today: {self.weather.name.lower()}, tomorrow: {self.forecast.name.lower()}.")
        lines.append(f"Money ${s.money:.2f} | lemons {s.lemons} | sugar {s.sugar} | cups {s.cups} (enough for {s.can_make()} glasses)")
        lines.append("Prices: " + ", ".join(f"{k} ${v:.2f}" for k, v in PRICES.items()))
        return "\n".join(lines)

    def _buy(self, item, amount):
        cost = PRICES[item] * amount
        if cost > self.stand.money + 1e-9:
            return f"You cannot afford {amount} {item} (${cost:.2f}).", -0.05
        self.stand = replace(self.stand, money=self.stand.money - cost, **{item: getattr(self.stand, item) + amount})
        return f"Bought {amount} {item} for ${cost:.2f}.", 0.0

    def _open(self, price):
        interest = max(0.0, 1.6 - 0.6 * price)
        visitors = round(self.weather.demand * interest * self._rng.uniform(0.8, 1.2))
        sold = min(visitors, self.stand.can_make())
        glasses_income = sold * price
        self.stand = replace(
            self.stand,
            money=self.stand.money + glasses_income,
            lemons=self.stand.lemons - -(-sold // 2),
            sugar=self.stand.sugar - -(-sold // 4),
            cups=self.stand.cups - sold,
        )
        spoiled = self.stand.lemons // 4
        self.stand = replace(self.stand, lemons=self.stand.lemons - spoiled)
        self.day += 1
        self.weather, self.forecast = self.forecast, None
        self.forecast = self._next_weather()
        self.actions_today = 0
        text = f"{visitors} visitors wanted lemonade; you sold {sold} for ${glasses_income:.2f}."
        if spoiled:
            text += f" {spoiled} lemons spoiled."
        return text, glasses_income / 20

    def step(self, action):
        self.actions_today += 1
        try:
            match action.lower().split():
                case ["buy", ("lemons" | "sugar" | "cups") as item, amount] if int(amount) > 0:
                    note, reward = self._buy(item, int(amount))
                case ["buy", item, _]:
                    note, reward = f"The shop does not sell {item!r}.", -0.05
                case ["open", price]:
                    value = float(price.lstrip("$"))
                    if value <= 0:
                        raise ValueError("price must be positive")
                    note, reward = self._open(value)
                case _:
                    note, reward = "Commands: buy ITEM AMOUNT, open PRICE.", -0.05
        except ValueError as err:
            note, reward = f"Bad number: {err}", -0.05
        terminated = self.day > self.days
        if terminated:
            reward += (self.stand.money - 20.0) / 20.0
        return self._observe(note), reward, terminated, self.actions_today > 10, asdict(self.stand)
