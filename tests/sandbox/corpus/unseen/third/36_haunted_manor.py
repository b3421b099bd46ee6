# seed: 4
# actions: ["look", "sing", "go east", "go west", "take brass key", "inventory", "go up", "go north", "go east", "take chest", "open chest"]
# expect_total: 1.25 after 11 steps
"""Haunted manor: a short text adventure with items, locked doors and a wandering ghost."""
from dataclasses import dataclass, field
from enum import Enum, auto
import random


class Direction(Enum):
    NORTH = auto()
    SOUTH = auto()
    EAST = auto()
    WEST = auto()

    @property
    def opposite(self):
        return {
            Direction.NORTH: Direction.SOUTH,
            Direction.SOUTH: Direction.NORTH,
            Direction.EAST: Direction.WEST,
            Direction.WEST: Direction.EAST,
        }[self]


@dataclass
class Room:
    name: str
    description: str
    exits: dict = field(default_factory=dict)
    items: set = field(default_factory=set)
    locked: dict = field(default_factory=dict)

    def connect(self, direction: Direction, other: "Room", key=None):
        self.exits[direction] = other
        other.exits[direction.opposite] = self
        if key:
            self.locked[direction] = key

    def __hash__(self):
        return hash(self.name)


@dataclass
class Player:
    location: Room
    inventory: list = field(default_factory=list)
    courage: int = 3


class Env:
    def __init__(self):
        self.turn_limit = 25

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        hall = Room("Hall", "Dusty portraits stare at you.")
        kitchen = Room("Kitchen", "Something drips.")
        library = Room("Library", "Books whisper softly.")
        cellar = Room("Cellar", "It is cold and damp.")
        attic = Room("Attic", "Moonlight falls on a chest.")
        hall.connect(Direction.NORTH, library)
        hall.connect(Direction.EAST, kitchen)
        kitchen.connect(Direction.SOUTH, cellar)
        library.connect(Direction.EAST, attic, key="brass key")
        self.rooms = [hall, kitchen, library, cellar, attic]
        hiding = [kitchen, cellar, hall]
        self.rng.shuffle(hiding)
        for room, item in zip(hiding, ("brass key", "candle", "garlic")):
            room.items.add(item)
        attic.items.add("chest")
        self.player = Player(hall)
        self.ghost = self.rng.choice([kitchen, library, cellar])
        self.turns = 0
        self.visited = {hall}
        return "You must find the treasure chest and open it.\n" + self._describe(), {"turns": 0}

    def _describe(self):
        here = self.player.location
        parts = [f"== {here.name} ==", here.description]
        if here.items:
            parts.append("You see: " + ", ".join(sorted(here.items)) + ".")
        exits = []
        for d in Direction:
            if d in here.exits:
                exits.append(d.name.lower() + (" (locked)" if d in here.locked else ""))
        parts.append("Exits: " + ", ".join(exits) + ".")
        if self.ghost is here:
            parts.append("A pale ghost hovers here!")
        return "\n".join(parts)

    def _move_ghost(self):
        options = list(self.ghost.exits.values())
        self.ghost = self.rng.choice(options + [self.ghost])

    def step(self, action):
        self.turns += 1
        reward, done, text = 0.0, False, ""
        p = self.player
        match action.lower().split():
            case ["look" | "l"]:
                text = "You look around."
            case ["inventory" | "i"]:
                text = "You carry: " + (", ".join(p.inventory) or "nothing")
            case ["go", way] if way.upper() in Direction.__members__:
                d = Direction[way.upper()]
                if d not in p.location.exits:
                    text = "You bump into a wall."
                elif d in p.location.locked and p.location.locked[d] not in p.inventory:
                    text = f"The door needs the {p.location.locked[d]}."
                else:
                    if p.location.locked.pop(d, None):
                        text = "The lock clicks open."
                        reward += 0.3
                    p.location = p.location.exits[d]
                    if p.location not in self.visited:
                        self.visited.add(p.location)
                        reward += 0.05
            case ["take", *words] if words:
                item = " ".join(words)
                if item == "chest":
                    text = "Far too heavy."
                elif item in p.location.items:
                    p.location.items.remove(item)
                    p.inventory.append(item)
                    text = f"Taken: {item}."
                    reward += 0.1
                else:
                    text = f"There is no {item} here."
            case ["open", "chest"]:
                if "chest" in p.location.items:
                    text, reward, done = "Gold! You win!", reward + 1.0, True
                else:
                    text = "No chest here."
            case _:
                text = "I don't understand that."
                reward -= 0.05
        if not done:
            self._move_ghost()
            if self.ghost is p.location:
                if "garlic" in p.inventory or "candle" in p.inventory:
                    text += " The ghost recoils."
                else:
                    p.courage -= 1
                    reward -= 0.1
                    text += f" The ghost scares you! Courage {p.courage}."
                    if p.courage <= 0:
                        done = True
                        reward -= 0.5
        obs = f"{text.strip()}\n{self._describe()}"
        return obs, round(reward, 3), done, (not done) and self.turns >= self.turn_limit, {"turns": self.turns, "inventory": list(p.inventory)}
