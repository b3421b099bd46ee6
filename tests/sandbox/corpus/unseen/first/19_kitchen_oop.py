# seed: 25
# actions: ["take onion", "chop onion", "take egg", "cook onion", "cook egg", "taste", "take flour", "mix", "cook flour", "chop egg", "serve"]
# expect_total: -1.2 after 11 steps
from __future__ import annotations
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
import random
from typing import Dict, Optional, Set


class Ingredient:
    def __init__(self, name: str) -> None:
        self.name = name
        self.state: PrepState = PrepState.RAW

    def __repr__(self) -> str:
        return f"{self.state.value} {self.name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ingredient) and (self.name, self.state) == (other.name, other.state)

    def __hash__(self) -> int:
        return hash((self.name, self.state))


class PrepState(str, Enum):
    RAW = "raw"
    CHOPPED = "chopped"
    COOKED = "cooked"
    BURNT = "burnt"


@dataclass(frozen=True)
class Requirement:
    name: str
    state: PrepState


@dataclass(frozen=True)
class Recipe:
    title: str
    requirements: tuple[Requirement, ...]


class Command(ABC):
    """Command pattern: one object per verb."""

    verb: str

    @abstractmethod
    def execute(self, kitchen: KitchenEnvironment, arg: Optional[str]) -> tuple[str, float]:
        pass


class TakeCommand(Command):
    verb = "take"

    def execute(self, kitchen, arg):
        if arg not in kitchen.pantry:
            return f"There is no {arg} in the pantry.", -0.1
        kitchen.pantry.discard(arg)
        kitchen.counter[arg] = Ingredient(arg)
        return f"You put the {arg} on the counter.", 0.0


class ChopCommand(Command):
    verb = "chop"

    def execute(self, kitchen, arg):
        item = kitchen.counter.get(arg)
        if item is None or item.state is not PrepState.RAW:
            return "You can't chop that.", -0.1
        item.state = PrepState.CHOPPED
        return f"You chop the {arg}.", kitchen.progress()


class CookCommand(Command):
    verb = "cook"

    def execute(self, kitchen, arg):
        item = kitchen.counter.get(arg)
        if item is None:
            return "You can't cook that.", -0.1
        burnt = item.state is PrepState.COOKED or kitchen.rng.random() < 0.1
        item.state = PrepState.BURNT if burnt else PrepState.COOKED
        return f"The {arg} is {item.state.value}.", kitchen.progress()


class TasteCommand(Command):
    verb = "taste"

    def execute(self, kitchen, arg):
        return ", ".join(repr(i) for i in kitchen.counter.values()) or "Nothing here.", 0.0


class KitchenEnvironment:
    COMMANDS: Dict[str, Command] = {c.verb: c() for c in (TakeCommand, ChopCommand, CookCommand, TasteCommand)}

    def __init__(self, max_steps: int = 20) -> None:
        self.max_steps = max_steps
        self.pantry: Set[str] = set()
        self.counter: Dict[str, Ingredient] = {}

    def reset(self, seed: Optional[int] = None) -> str:
        self.rng = random.Random(seed)
        stock = ["onion", "egg", "flour", "tomato", "rice"]
        self.pantry = set(stock)
        self.counter = {}
        chosen = self.rng.sample(stock, 3)
        self.recipe = Recipe(
            title=self.rng.choice(["Stew", "Omelette", "Bake"]),
            requirements=tuple(Requirement(n, self.rng.choice([PrepState.CHOPPED, PrepState.COOKED])) for n in chosen),
        )
        self.t = 0
        self._met = 0
        needs = "; ".join(f"{r.state.value} {r.name}" for r in self.recipe.requirements)
        return f"Recipe: {self.recipe.title} ({needs}). Pantry: {', '.join(sorted(self.pantry))}."

    def progress(self) -> float:
        met = sum(r.name in self.counter and self.counter[r.name].state is r.state for r in self.recipe.requirements)
        delta, self._met = met - self._met, met
        return float(delta)

    def step(self, action: str):
        self.t += 1
        verb, _, arg = action.partition(" ")
        if verb == "serve":
            complete = self._met == len(self.recipe.requirements)
            return ("Delicious!" if complete else "The guest frowns."), (3.0 if complete else -1.0), True, {}
        command = self.COMMANDS.get(verb)
        if command is None:
            obs, reward = f"You don't know how to '{verb}'.", -0.1
        else:
            obs, reward = command.execute(self, arg or None)
        return obs, reward, self.t >= self.max_steps, {"met": self._met}
