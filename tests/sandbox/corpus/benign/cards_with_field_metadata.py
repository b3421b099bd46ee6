# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
from dataclasses import dataclass, field, fields, asdict, replace, astuple
from typing import Optional, ClassVar
from functools import partialmethod, cached_property, singledispatchmethod, partial
@dataclass(order=True)
class Card:
    rank: int = field(metadata={"unit": "pips"})
    suit: str = field(default="S", compare=False)
    data: Optional[dict] = field(default_factory=dict, repr=False, compare=False)
    deck: ClassVar[int] = 52
class Light:
    def __init__(self): self.on = False
    def _set(self, v): self.on = v; return self
    turn_on = partialmethod(_set, True)
    turn_off = partialmethod(_set, False)
    @cached_property
    def total(self): return 41 + self.on
    @singledispatchmethod
    def show(self, x): return "obj"
    @show.register
    def _(self, x: int): return f"int {x}"
    @show.register(str)
    def _(self, x): return f"str {x}"
def match(c):
    match c:
        case Card(1, suit): return f"ace of {suit}"
        case Card(r, s, d): return f"{r}{s}{d}"
class Env:
    def reset(self, seed=0): return "x"
    def step(self, action):
        meta = {f.name: dict(f.metadata) for f in fields(Card)}
        c = replace(Card(3), suit="H", data={"k": 1})
        l = Light().turn_on()
        shown = f"{meta} {c} {asdict(c)} {astuple(c)} {l.on} {l.total} {l.show(3)} {l.show('a')} {l.show(1.0)} {match(c)} {match(Card(1))} {sorted([Card(5), Card(2)])[0].rank} {c.data}"
        expected = "{'rank': {'unit': 'pips'}, 'suit': {}, 'data': {}} Card(rank=3, suit='H') {'rank': 3, 'suit': 'H', 'data': {'k': 1}} (3, 'H', {'k': 1}) True 42 int 3 str a obj 3H{'k': 1} ace of S 2 {'k': 1}"
        return shown, float(shown == expected), True
