# seed: 2
# actions: ["go east", "take the lamp", "west", "north", "west", "take the matches", "east", "go south", "u", "take the key", "light lamp", "go down", "go east", "go down", "unlock the door", "north", "get crown"]
# expect_total: 1.8800000000000001 after 17 steps
"""A short text adventure with a parser: explore the manor, light the lamp, open the crypt, take the crown."""
import random
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Set


@dataclass
class Room:
    name: str
    description: str
    exits: Dict[str, str] = field(default_factory=dict)
    items: List[str] = field(default_factory=list)
    dark: bool = False


SYNONYMS = {"n": "north", "s": "south", "e": "east", "w": "west", "u": "up", "d": "down",
            "get": "take", "grab": "take", "l": "look", "i": "inventory", "unlock": "open"}
DIRECTIONS = {"north", "south", "east", "west", "up", "down"}


class Env:
    MAX_TURNS = 40

    def __init__(self):
        self.commands: Dict[str, Callable[[List[str]], str]] = {
            "look": self._cmd_look,
            "go": self._cmd_go,
            "take": self._cmd_take,
            "drop": self._cmd_drop,
            "inventory": self._cmd_inventory,
            "light": self._cmd_light,
            "open": self._cmd_open,
        }

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.rooms = {
            "hall": Room("Entrance Hall", "Dust sheets cover the furniture.", {"north": "gallery", "east": "kitchen", "up": "attic"}),
            "gallery": Room("Gallery", "Portraits watch you.", {"south": "hall", "west": "library"}),
            "kitchen": Room("Kitchen", "Cold ashes fill the hearth.", {"west": "hall", "down": "cellar"}),
            "library": Room("Library", "Shelves sag with mouldy books.", {"east": "gallery"}),
            "attic": Room("Attic", "Rain drums on the slates.", {"down": "hall"}),
            "cellar": Room("Cellar", "An iron door is set in the north wall.", {"up": "kitchen"}, dark=True),
            "crypt": Room("Crypt", "Stone kings sleep here.", {"south": "cellar"}, ["crown"], dark=True),
        }
        spots = ["gallery", "kitchen", "library", "attic"]
        rng.shuffle(spots)
        for item, spot in zip(("lamp", "matches", "key"), spots):
            self.rooms[spot].items.append(item)
        self.here = "hall"
        self.bag: List[str] = []
        self.lit = False
        self.turns = 0
        self.milestones: Set[str] = set()
        self.pending = 0.0
        self.won = False
        return self._cmd_look([]), {"turns": 0}

    # -- helpers -----------------------------------------------------------
    def _award(self, name: str, points: float) -> None:
        if name not in self.milestones:
            self.milestones.add(name)
            self.pending += points

    @property
    def room(self) -> Room:
        return self.rooms[self.here]

    def _can_see(self) -> bool:
        return not self.room.dark or (self.lit and "lamp" in self.bag)

    # -- commands ----------------------------------------------------------
    def _cmd_look(self, args):
        if not self._can_see():
            return "It is pitch dark. You can only go back " + " or ".join(self.room.exits) + "."
        text = f"== {self.room.name} ==\n{self.room.description}"
        if self.room.items:
            text += "\nYou see: " + ", ".join(self.room.items) + "."
        return text + "\nExits: " + ", ".join(sorted(self.room.exits)) + "."

    def _cmd_go(self, args):
        if not args or args[0] not in self.room.exits:
            return "You can't go that way."
        self.here = self.room.exits[args[0]]
        self._award(f"visit:{self.here}", 0.05)
        return self._cmd_look([])

    def _cmd_take(self, args):
        item = args[-1] if args else ""
        if not self._can_see() or item not in self.room.items:
            return f"There is no {item or 'such thing'} here."
        self.room.items.remove(item)
        self.bag.append(item)
        if item == "crown":
            self.won = True
            self.pending += 1.0
            return "You lift the crown. The manor sighs and falls silent. You have won!"
        self._award(f"take:{item}", 0.1)
        return f"Taken: {item}."

    def _cmd_drop(self, args):
        item = args[-1] if args else ""
        if item not in self.bag:
            return "You aren't carrying that."
        self.bag.remove(item)
        self.room.items.append(item)
        return f"Dropped: {item}."

    def _cmd_inventory(self, args):
        return "You carry: " + (", ".join(self.bag) if self.bag else "nothing") + "."

    def _cmd_light(self, args):
        if "lamp" not in args or "lamp" not in self.bag:
            return "Light what?"
        if "matches" not in self.bag:
            return "You have nothing to light it with."
        self.lit = True
        self._award("light", 0.2)
        return "The lamp glows."

    def _cmd_open(self, args):
        if self.here != "cellar" or "door" not in args or not self._can_see():
            return "There is nothing to open here."
        if "key" not in self.bag:
            return "The iron door is locked."
        self.room.exits["north"] = "crypt"
        self._award("door", 0.2)
        return "The key turns with a shriek. The way north is open."

    def step(self, action):
        self.turns += 1
        self.pending = -0.01
        words = [SYNONYMS.get(w, w) for w in action.lower().split() if w not in ("the", "a", "an", "to", "up_the")]
        if words and words[0] in DIRECTIONS:
            words.insert(0, "go")
        handler = self.commands.get(words[0]) if words else None
        if handler is None:
            text = "I don't understand that."
        else:
            text = handler(words[1:])
        truncated = self.turns >= self.MAX_TURNS and not self.won
        info = {"turns": self.turns, "milestones": sorted(self.milestones), "inventory": list(self.bag)}
        return text, self.pending, self.won, truncated, info
