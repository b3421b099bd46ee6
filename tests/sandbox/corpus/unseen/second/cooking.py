# seed: 24
# actions: ["read recipe", "get onion", "get tomato", "chop onion", "chop tomato", "fry onion", "fry tomato", "boil pasta", "get pasta", "boil pasta", "add salt", "plate", "serve"]
# expect_total: -1.2000000000000002 after 13 steps
"""
Kitchen environment
===================
The agent follows a procedurally generated recipe. Ingredients carry state flags.

I use IntFlag to keep the state small: a recipe is a mapping ingredient -> flags that
must be set. Order constraint: chopping must come before cooking (a fried onion can't
be chopped any more - well, it can in reality, but we want a partial order to learn).
"""
import random
from enum import IntFlag, auto
from typing import Dict, List, Optional, Set, Tuple


class Prep(IntFlag):
    RAW = 0
    CHOPPED = auto()
    FRIED = auto()
    BOILED = auto()


COOKED = Prep.FRIED | Prep.BOILED
PANTRY: Dict[str, List[Prep]] = {
    "onion": [Prep.CHOPPED, Prep.CHOPPED | Prep.FRIED],
    "tomato": [Prep.CHOPPED, Prep.CHOPPED | Prep.FRIED],
    "pasta": [Prep.BOILED],
    "potato": [Prep.BOILED, Prep.CHOPPED | Prep.FRIED],
    "egg": [Prep.FRIED, Prep.BOILED],
}
SEASONINGS = ("salt", "pepper", "basil")


def describe(flags: Prep) -> str:
    # Iterating a flag yields its single members on 3.11+, but be explicit for older versions.
    names = [m.name.lower() for m in (Prep.CHOPPED, Prep.FRIED, Prep.BOILED) if m in flags]
    return " and ".join(names) or "raw"


class CookingEnv:
    def __init__(self, n_ingredients: int = 3, max_steps: int = 25):
        self.n_ingredients = n_ingredients
        self.max_steps = max_steps
        self.counter: Dict[str, Prep] = {}
        self.seasoning: Set[str] = set()
        self.steps = 0
        self.plated = False

    def reset(self, seed: Optional[int] = None) -> Tuple[str, dict]:
        rng = random.Random(seed)
        chosen = rng.sample(sorted(PANTRY), self.n_ingredients)
        self.recipe = {name: rng.choice(PANTRY[name]) for name in chosen}
        self.recipe_seasoning = rng.choice(SEASONINGS)
        self.counter = {}
        self.seasoning = set()
        self.steps = 0
        self.plated = False
        return "You are in a kitchen. Type 'read recipe' to begin.", {}

    def _recipe_text(self) -> str:
        lines = [f"- {name}: {describe(flags)}" for name, flags in self.recipe.items()]
        lines.append(f"- season with {self.recipe_seasoning}")
        return "Recipe:\n" + "\n".join(lines)

    def _apply(self, name: str, flag: Prep) -> Tuple[str, float]:
        if name not in self.counter:
            return f"You have no {name}.", -0.1
        current = self.counter[name]
        if flag in current:
            return f"The {name} is already {describe(flag)}.", -0.1
        if flag is Prep.CHOPPED and current & COOKED:
            return f"The {name} is too hot to chop.", -0.2
        self.counter[name] = current | flag
        wanted = self.recipe.get(name, Prep.RAW)
        return f"The {name} is now {describe(self.counter[name])}.", 0.2 if flag & wanted else -0.2

    def step(self, action: str) -> Tuple[str, float, bool, bool, dict]:
        self.steps += 1
        verb, _, noun = action.lower().partition(" ")
        text, reward, terminated = "You can't do that here.", -0.1, False
        if verb == "read":
            text, reward = self._recipe_text(), 0.0
        elif verb == "get" and noun in PANTRY:
            self.counter.setdefault(noun, Prep.RAW)
            text, reward = f"You put the {noun} on the counter.", 0.1 if noun in self.recipe else -0.1
        elif verb in ("chop", "fry", "boil"):
            flag = {"chop": Prep.CHOPPED, "fry": Prep.FRIED, "boil": Prep.BOILED}[verb]
            text, reward = self._apply(noun, flag)
        elif verb == "add" and noun in SEASONINGS:
            self.seasoning.add(noun)
            text, reward = f"You add {noun}.", 0.0
        elif verb == "plate":
            self.plated = bool(self.counter)
            text, reward = "You arrange everything on a plate.", 0.0
        elif verb == "serve":
            terminated = True
            good = sum(self.counter.get(n) == f for n, f in self.recipe.items())
            extra = len(self.counter.keys() - self.recipe.keys())
            reward = good / len(self.recipe) - 0.2 * extra
            reward += 0.5 * (self.seasoning == {self.recipe_seasoning}) - 0.5 * (not self.plated)
            text = f"The guest tastes the dish: {good} of {len(self.recipe)} parts are right."
        return text, reward, terminated, self.steps >= self.max_steps, {"counter": {k: int(v) for k, v in self.counter.items()}}
