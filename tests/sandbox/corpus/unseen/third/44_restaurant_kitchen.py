# seed: 23
# actions: ["wait 3", "cook 3", "cook 5", "serve 3", "cook 9", "serve 5", "order_supplies", "wait 2", "wait 1", "serve 5", "cook 1", "cook 4", "serve 1", "cook 2", "wait 2", "serve 4", "tidy up", "serve 2", "wait 1", "serve 2"]
# expect_total: 1.7 after 18 steps
"""Kitchen simulation: cook orders on a limited stove using an event queue."""
import heapq
import itertools
import random
from dataclasses import dataclass, field
from typing import Optional

RECIPES = {
    "soup": {"needs": ("leek", "stock"), "time": 3, "price": 6},
    "omelette": {"needs": ("egg", "egg", "butter"), "time": 2, "price": 5},
    "steak": {"needs": ("beef", "butter"), "time": 4, "price": 12},
}


@dataclass
class Order:
    number: int
    dish: str
    deadline: int
    state: str = "waiting"

    def label(self, now):
        return f"#{self.number} {self.dish} ({self.state}, {self.deadline - now} left)"


@dataclass(order=True)
class Event:
    at: int
    seq: int
    kind: str = field(compare=False)
    order: Optional[Order] = field(compare=False, default=None)


class Kitchen:
    BURNERS = 2

    def __init__(self, rng):
        self.now = 0
        self.seq = itertools.count()
        self.events = []
        self.pantry = {"leek": 2, "stock": 2, "egg": 4, "butter": 3, "beef": 1}
        self.orders = []
        for n in range(1, 6):
            dish = rng.choice(list(RECIPES))
            arrive = rng.randint(0, 6)
            self.schedule(arrive, "arrive", Order(n, dish, arrive + RECIPES[dish]["time"] + rng.randint(3, 6)))

    def schedule(self, at, kind, order=None):
        heapq.heappush(self.events, Event(at, next(self.seq), kind, order))

    @property
    def cooking(self):
        return [o for o in self.orders if o.state == "cooking"]

    def find(self, number):
        for o in self.orders:
            if o.number == number:
                return o
        raise LookupError(f"no order #{number}")

    def cook(self, number):
        o = self.find(number)
        if o.state != "waiting":
            raise LookupError(f"order is {o.state}")
        if len(self.cooking) >= self.BURNERS:
            raise RuntimeError("all burners are busy")
        recipe = RECIPES[o.dish]
        short = {i for i in recipe["needs"] if self.pantry[i] < recipe["needs"].count(i)}
        if short:
            raise RuntimeError("missing " + ", ".join(sorted(short)))
        for i in recipe["needs"]:
            self.pantry[i] -= 1
        o.state = "cooking"
        self.schedule(self.now + recipe["time"], "ready", o)
        return f"Cooking {o.dish}."

    def serve(self, number):
        o = self.find(number)
        if o.state != "ready":
            raise LookupError(f"order is {o.state}")
        o.state = "served"
        late = max(0, self.now - o.deadline)
        return max(0, RECIPES[o.dish]["price"] - 2 * late)

    def advance(self, minutes):
        self.now += minutes
        news = []
        while self.events and self.events[0].at <= self.now:
            ev = heapq.heappop(self.events)
            if ev.kind == "arrive":
                self.orders.append(ev.order)
                news.append(f"New order {ev.order.label(self.now)}")
            elif ev.kind == "ready":
                ev.order.state = "ready"
                news.append(f"{ev.order.dish} #{ev.order.number} is ready")
            elif ev.kind == "delivery":
                for k in self.pantry:
                    self.pantry[k] += 1
                news.append("A delivery arrives")
        return news


class Env:
    def reset(self, seed=None):
        self.kitchen = Kitchen(random.Random(seed))
        self.steps = 0
        self.kitchen.schedule(8, "delivery")
        news = self.kitchen.advance(0)
        return "Commands: cook N, serve N, order_supplies, wait M.\n" + self._status(news), {"now": 0}

    def _status(self, news):
        k = self.kitchen
        open_ = [o.label(k.now) for o in k.orders if o.state not in ("served", "lost")]
        pantry = ", ".join(f"{i}:{n}" for i, n in k.pantry.items())
        return "\n".join([f"[t={k.now}] " + ("; ".join(news) or "-"), "Orders: " + ("; ".join(open_) or "none"), f"Pantry: {pantry}"])

    def step(self, action):
        k = self.kitchen
        self.steps += 1
        words = action.split()
        reward, news = 0.0, []
        try:
            if words[0] == "cook":
                news.append(k.cook(int(words[1])))
                news += k.advance(1)
            elif words[0] == "serve":
                paid = k.serve(int(words[1]))
                reward += paid / 10
                news.append(f"Served, +{paid}.")
            elif words[0] == "order_supplies":
                k.schedule(k.now + 3, "delivery")
                reward -= 0.3
            elif words[0] == "wait":
                news += k.advance(max(1, min(5, int(words[1]))))
            else:
                raise ValueError(words[0])
        except (LookupError, RuntimeError) as e:
            news, reward = [f"Problem: {e}"], -0.1
        except ValueError as e:
            news, reward = [f"What? ({e})"], -0.1
        for o in k.orders:
            if o.state in ("waiting", "ready") and k.now > o.deadline + 4:
                o.state = "lost"
                reward -= 0.5
                news.append(f"Customer #{o.number} left")
        done = len(k.orders) == 5 and all(o.state in ("served", "lost") for o in k.orders)
        return self._status(news), round(reward, 3), done, self.steps >= 25, {"now": k.now, "served": sum(o.state == "served" for o in k.orders)}
