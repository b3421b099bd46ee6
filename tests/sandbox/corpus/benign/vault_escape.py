# seed: 21
# actions: ["look", "take lamp", "light lamp", "go north", "dance", "take key", "go south", "unlock gate with key", "go east"]
# expect_total: 1.63 after 9 steps
# A tiny parser adventure. Python 3.11+ (match statement + StrEnum).
import random
from enum import Flag, StrEnum, auto


class Place(StrEnum):
    CELL = auto()
    CELLAR = auto()
    YARD = auto()


class Status(Flag):
    NONE = 0
    LIT = auto()
    HAS_LAMP = auto()
    HAS_KEY = auto()
    GATE_OPEN = auto()

    READY = HAS_KEY | GATE_OPEN


DESCRIPTIONS = {
    Place.CELL: "A damp cell. Exits: north (dark), east (gate).",
    Place.CELLAR: "A cellar full of barrels. Exits: south.",
    Place.YARD: "Fresh air! You are free.",
}


class Env:
    def reset(self, seed=0):
        rng = random.Random(seed)
        self.place = Place.CELL
        self.status = Status.NONE
        self.mood = rng.choice(["calm", "nervous", "brave"])
        self.turn = 0
        return f"You wake up feeling {self.mood}. {DESCRIPTIONS[self.place]}"

    def _has(self, flag):
        return bool(self.status & flag)

    def step(self, action):
        self.turn += 1
        reward = -0.02
        match action.lower().split():
            case ["look"]:
                msg = DESCRIPTIONS[self.place]
            case ["take", "lamp"] if self.place is Place.CELL and not self._has(Status.HAS_LAMP):
                self.status |= Status.HAS_LAMP
                msg, reward = "Taken.", 0.1
            case ["take", "key"] if self.place is Place.CELLAR:
                self.status |= Status.HAS_KEY
                msg, reward = "A rusty key.", 0.2
            case ["take", thing]:
                msg = f"There is no {thing} here."
            case ["light" | "ignite", "lamp"] if self._has(Status.HAS_LAMP):
                self.status |= Status.LIT
                msg, reward = "The lamp glows.", 0.1
            case ["go", ("north" | "south" | "east" | "west") as way]:
                msg, reward = self._go(way)
            case ["unlock", "gate", *_] if self._has(Status.HAS_KEY) and self.place is Place.CELL:
                self.status |= Status.GATE_OPEN
                msg, reward = "Click.", 0.3
            case []:
                msg = "Say something."
            case [verb, *rest]:
                msg = f"I don't know how to {verb}" + (f" ({len(rest)} more words)" if rest else "") + "."
                reward = -0.05
        done = self.place == Place.YARD
        info = {
            "place": str(self.place),
            "flags": [f.name for f in Status if f in self.status],
            "ready": Status.READY in self.status,
        }
        return msg, reward, done, info

    def _go(self, way):
        match (self.place, way):
            case (Place.CELL, "north"):
                if not self._has(Status.LIT):
                    return "Too dark.", -0.1
                self.place = Place.CELLAR
            case (Place.CELLAR, "south"):
                self.place = Place.CELL
            case (Place.CELL, "east") if Status.READY in self.status:
                self.place = Place.YARD
                return DESCRIPTIONS[Place.YARD], 1.0
            case _:
                return "You can't go that way.", -0.05
        return DESCRIPTIONS[self.place], 0.0
