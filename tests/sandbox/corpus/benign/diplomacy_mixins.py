# seed: 38
# actions: ["gift north 5", "ally north", "trade south", "attack south", "peace south", "trade north", "gift west 1", "end", "end"]
# expect_total: 2.28 after 8 steps
"""Tiny diplomacy game assembled from cooperative mixins."""
import random
from abc import ABC, ABCMeta, abstractmethod
from typing import Any, ClassVar


class EventMixin:
    """Collects events; cooperates through super().__init__(**kwargs)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._events: list[str] = []

    def emit(self, template: str, *args: Any, **kw: Any) -> None:
        self._events.append(template.format(*args, **kw))

    def drain(self) -> list[str]:
        events, self._events = self._events, []
        return events


class TreasuryMixin:
    def __init__(self, *, gold: int = 10, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gold = gold

    def spend(self, n: int) -> bool:
        if ok := n <= self.gold:
            self.gold -= n
        return ok


class RelationsMixin:
    NEIGHBOURS: ClassVar[tuple[str, ...]] = ("north", "south", "west")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.relations = dict.fromkeys(self.NEIGHBOURS, 0)
        self.at_war: set[str] = set()

    def improve(self, who: str, by: int) -> int:
        self.relations[who] = min(10, max(-10, self.relations[who] + by))
        return self.relations[who]


class PluginMeta(ABCMeta):
    """Metaclass that records concrete orders."""

    orders: dict[str, type] = {}

    def __new__(mcls, name, bases, ns, **kw):
        cls = super().__new__(mcls, name, bases, ns, **kw)
        if verb := ns.get("verb"):
            mcls.orders[verb] = cls
        return cls


class Order(metaclass=PluginMeta):
    verb: ClassVar[str] = ""

    def __init__(self, target: str = "", amount: str = "0") -> None:
        self.target = target
        self.amount = int(amount)

    @abstractmethod
    def run(self, realm: "Realm") -> float: ...


class Gift(Order):
    verb = "gift"

    def run(self, realm):
        if not realm.spend(self.amount):
            return -0.1
        level = realm.improve(self.target, self.amount // 2)
        realm.emit("{who} likes you more ({level:+d})", who=self.target, level=level)
        return 0.02 * level


class Ally(Order):
    verb = "ally"

    def run(self, realm):
        if realm.relations[self.target] < 2:
            realm.emit("{0} refuses", self.target)
            return -0.05
        realm.improve(self.target, 4)
        return 0.5


class Trade(Order):
    verb = "trade"

    def run(self, realm):
        if self.target in realm.at_war:
            return -0.2
        profit = realm.rng.randint(1, 4) + realm.relations[self.target] // 2
        realm.gold += profit
        realm.emit("trade with {0.target} brings {1} gold", self, profit)
        return profit / 10


class Attack(Order):
    verb = "attack"

    def run(self, realm):
        realm.at_war.add(self.target)
        realm.improve(self.target, -8)
        return realm.rng.choice([0.4, -0.4])


class Peace(Attack):
    verb = "peace"

    def run(self, realm):
        penalty = super().run(realm) / 4
        realm.at_war.discard(self.target)
        realm.improve(self.target, 9)
        return penalty + 0.1


class Realm(EventMixin, TreasuryMixin, RelationsMixin):
    def __init__(self, rng: random.Random, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rng = rng


class BaseEnv(ABC):
    @abstractmethod
    def reset(self, seed: int | None = None): ...

    @abstractmethod
    def step(self, action: str): ...


class DiplomacyEnv(BaseEnv):
    TURNS = 12

    def reset(self, seed=None):
        self.realm = Realm(random.Random(seed), gold=12)
        self.turn = 0
        return f"orders: {', '.join(sorted(PluginMeta.orders))}", {"mro": [c.__name__ for c in Realm.__mro__[:-1]]}

    def step(self, action):
        self.turn += 1
        verb, *args = action.split()
        realm = self.realm
        if verb == "end":
            allies = [k for k, v in realm.relations.items() if v >= 5]
            return "the end", len(allies) + realm.gold / 100, True, False, {"allies": allies}
        reward = PluginMeta.orders[verb](*args).run(realm)
        info = {"gold": realm.gold, "war": sorted(realm.at_war)}
        return " | ".join(realm.drain()) or "nothing new", reward, False, self.turn >= self.TURNS, info
