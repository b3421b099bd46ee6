"""What our own households are made of: rooms, the furniture in them, the things that lie about, and the six tasks.

Plain data, written for this project. The type names are those of the ALFWorld domain, so that a generated problem is
at home under its PDDL domain and text grammar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Room = Literal["Kitchen", "LivingRoom", "Bedroom", "Bathroom"]

ROOMS: dict[Room, dict[str, tuple[int, int]]] = {
    "Kitchen": {
        "Cabinet": (2, 6),
        "CoffeeMachine": (1, 1),
        "CounterTop": (1, 3),
        "DiningTable": (0, 1),
        "Drawer": (1, 4),
        "Fridge": (1, 1),
        "GarbageCan": (1, 1),
        "Microwave": (1, 1),
        "Shelf": (0, 2),
        "SideTable": (0, 1),
        "SinkBasin": (1, 1),
        "StoveBurner": (2, 4),
        "Toaster": (1, 1),
    },
    "LivingRoom": {
        "ArmChair": (1, 2),
        "Cabinet": (0, 3),
        "CoffeeTable": (1, 1),
        "DiningTable": (0, 1),
        "Drawer": (0, 4),
        "Dresser": (0, 1),
        "GarbageCan": (1, 1),
        "Ottoman": (0, 1),
        "Safe": (0, 1),
        "Shelf": (0, 3),
        "SideTable": (1, 3),
        "Sofa": (1, 1),
        "TVStand": (0, 1),
    },
    "Bedroom": {
        "ArmChair": (0, 1),
        "Bed": (1, 1),
        "Desk": (1, 2),
        "Drawer": (2, 6),
        "Dresser": (0, 1),
        "GarbageCan": (1, 1),
        "LaundryHamper": (0, 1),
        "Safe": (0, 1),
        "Shelf": (0, 4),
        "SideTable": (0, 2),
    },
    "Bathroom": {
        "BathtubBasin": (0, 1),
        "Cabinet": (0, 4),
        "CounterTop": (1, 1),
        "Drawer": (0, 4),
        "GarbageCan": (1, 1),
        "HandTowelHolder": (1, 2),
        "Shelf": (0, 2),
        "SinkBasin": (1, 2),
        "Toilet": (1, 1),
        "ToiletPaperHanger": (1, 1),
        "TowelHolder": (1, 1),
    },
}
"""Room kind -> receptacle type -> (fewest, most). Searching any room end to end, opening what opens, takes at most
40 commands, so that a 50-step cap leaves room for the task itself."""

OPENABLE = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Safe"})

ROOM_FOR: dict[str, int] = {
    "Bed": 4,
    "CoffeeMachine": 1,
    "CoffeeTable": 5,
    "CounterTop": 7,
    "Desk": 6,
    "DiningTable": 7,
    "Dresser": 5,
    "Fridge": 5,
    "HandTowelHolder": 1,
    "Sofa": 4,
    "StoveBurner": 1,
    "Toaster": 1,
    "ToiletPaperHanger": 1,
    "TowelHolder": 1,
}
"""How many things a receptacle holds at the start; 3 where nothing is said. (The game itself knows no such limit.)"""

ROOM_FOR_OTHERS = 3

_TOPS = "CoffeeTable CounterTop DiningTable SideTable"
_STUDY = "Desk Dresser Shelf"
_SEATS = "ArmChair Ottoman Sofa"


@dataclass(frozen=True)
class Thing:
    """One type of object.

    Attributes:
        rooms: Initials of the rooms it is found in: K(itchen), L(iving room), B(edroom), W(ash room, i.e. bathroom).
        places: Receptacle types that take it.
        traits: PDDL predicates true of it besides ``pickupable`` (lamps: ``toggleable`` instead).
    """

    rooms: str
    places: frozenset[str]
    traits: frozenset[str] = frozenset()

    @property
    def lamp(self) -> bool:
        """Whether it is switched on where it stands, and never carried."""
        return "toggleable" in self.traits


def _thing(rooms: str, places: str, traits: str = "") -> Thing:
    return Thing(rooms, frozenset(places.split()), frozenset(traits.split()))


_FOOD = f"{_TOPS} Fridge GarbageCan Microwave SinkBasin"
_COLD_AND_HOT = "cleanable coolable heatable"
_CUTLERY = _thing("K", "CounterTop DiningTable Drawer SideTable SinkBasin", "cleanable")
_SMALL = f"{_TOPS} {_STUDY} {_SEATS} Drawer Safe"
_FRUIT = _thing("K", _FOOD, f"{_COLD_AND_HOT} sliceable")
_SHAKER = _thing("K", f"{_TOPS} Cabinet Drawer Shelf")
_VESSEL = f"{_COLD_AND_HOT} isReceptacleObject"
_COLD_VESSEL = "cleanable coolable isReceptacleObject"
_WRITING = _thing("B", f"{_TOPS} {_STUDY} Drawer GarbageCan")
_WASHROOM = "BathtubBasin Cabinet CounterTop Drawer GarbageCan Shelf Toilet"
_SPORTS = _thing("B", "Bed Desk Dresser")

THINGS: dict[str, Thing] = {
    "AlarmClock": _thing("B", f"{_STUDY} SideTable"),
    "Apple": _FRUIT,
    "BaseballBat": _SPORTS,
    "BasketBall": _SPORTS,
    "Book": _thing("LB", f"{_TOPS} {_STUDY} {_SEATS} Bed Cabinet Drawer"),
    "Bowl": _thing("KLB", f"{_TOPS} {_STUDY} Cabinet Fridge Microwave SinkBasin", _COLD_VESSEL),
    "Box": _thing("LB", f"{_TOPS} {_STUDY} {_SEATS} Cabinet", "isReceptacleObject"),
    "Bread": _thing("K", f"{_TOPS} Fridge GarbageCan Microwave", "coolable heatable sliceable"),
    "ButterKnife": _CUTLERY,
    "CD": _thing("B", f"{_TOPS} {_STUDY} Cabinet Drawer GarbageCan Safe"),
    "Candle": _thing("W", f"{_TOPS} {_STUDY} Cabinet Drawer Toilet"),
    "CellPhone": _thing("KLB", f"{_SMALL} Bed"),
    "Cloth": _thing("BW", f"{_TOPS} {_STUDY} BathtubBasin Cabinet Drawer LaundryHamper SinkBasin Toilet", "cleanable"),
    "CreditCard": _thing("KLB", _SMALL),
    "Cup": _thing("K", f"{_TOPS} Cabinet Fridge Microwave Shelf SinkBasin", _VESSEL),
    "DeskLamp": _thing("LB", f"{_STUDY} CoffeeTable DiningTable SideTable", "toggleable"),
    "DishSponge": _thing("KW", f"{_TOPS} BathtubBasin Cabinet Drawer GarbageCan Shelf SinkBasin Toilet", "cleanable"),
    "Egg": _FRUIT,
    "FloorLamp": _thing("L", f"{_STUDY} CoffeeTable DiningTable SideTable", "toggleable"),
    "Fork": _CUTLERY,
    "Glassbottle": _thing("K", f"{_TOPS} Cabinet Fridge GarbageCan Shelf SinkBasin"),
    "HandTowel": _thing("W", f"{_WASHROOM} HandTowelHolder SinkBasin"),
    "Kettle": _thing("K", f"{_TOPS} Cabinet Shelf SinkBasin StoveBurner", "cleanable"),
    "KeyChain": _thing("LB", _SMALL),
    "Knife": _CUTLERY,
    "Ladle": _thing("K", "Cabinet CounterTop DiningTable Drawer SideTable SinkBasin", "cleanable"),
    "Laptop": _thing("LB", f"{_TOPS} {_SEATS} Bed Desk Dresser"),
    "Lettuce": _thing("K", f"{_TOPS} Fridge GarbageCan SinkBasin", "cleanable coolable sliceable"),
    "Mug": _thing("KB", f"{_TOPS} {_STUDY} Cabinet CoffeeMachine Fridge Microwave SinkBasin", _VESSEL),
    "Newspaper": _thing("L", f"{_TOPS} {_STUDY} {_SEATS} Cabinet Drawer GarbageCan"),
    "Pan": _thing("K", "Cabinet CounterTop DiningTable Fridge SideTable SinkBasin StoveBurner", _COLD_VESSEL),
    "Pen": _WRITING,
    "Pencil": _WRITING,
    "PepperShaker": _SHAKER,
    "Pillow": _thing("LB", f"{_SEATS} Bed"),
    "Plate": _thing("KL", f"{_TOPS} Cabinet Dresser Fridge Microwave Shelf SinkBasin", _VESSEL),
    "Pot": _thing("K", "Cabinet CounterTop DiningTable Fridge Shelf SinkBasin StoveBurner", _COLD_VESSEL),
    "Potato": _FRUIT,
    "RemoteControl": _thing("L", f"{_TOPS} {_STUDY} {_SEATS} Drawer TVStand"),
    "SaltShaker": _SHAKER,
    "SoapBar": _thing("W", f"{_WASHROOM} SinkBasin", "cleanable"),
    "SoapBottle": _thing("KW", f"{_TOPS} Cabinet Drawer GarbageCan Shelf Toilet"),
    "Spatula": _CUTLERY,
    "Spoon": _CUTLERY,
    "SprayBottle": _thing("W", "Cabinet CounterTop Drawer GarbageCan Shelf Toilet"),
    "Statue": _thing("KLB", f"{_TOPS} {_STUDY} Safe"),
    "TeddyBear": _thing("B", "ArmChair Bed Desk Dresser Sofa"),
    "TennisRacket": _SPORTS,
    "TissueBox": _thing("LBW", f"{_TOPS} {_STUDY} Cabinet Drawer GarbageCan TVStand Toilet"),
    "ToiletPaper": _thing("W", "Cabinet CounterTop Drawer GarbageCan Shelf Toilet ToiletPaperHanger"),
    "Tomato": _FRUIT,
    "Towel": _thing("W", "BathtubBasin Cabinet CounterTop TowelHolder"),
    "Vase": _thing("KLB", f"{_TOPS} {_STUDY} Cabinet Safe"),
    "Watch": _thing("LB", f"{_TOPS} {_STUDY} Drawer Safe"),
    "WateringCan": _thing("L", f"{_TOPS} {_STUDY} Cabinet Drawer"),
    "WineBottle": _thing("K", f"{_TOPS} Cabinet Fridge GarbageCan Shelf", "coolable"),
}
"""Object type -> what is true of it."""

ROOM_INITIAL: dict[Room, str] = {"Kitchen": "K", "LivingRoom": "L", "Bedroom": "B", "Bathroom": "W"}


@dataclass(frozen=True)
class TaskType:
    """One of the six kinds of task.

    Attributes:
        rooms: Where it is set.
        sentences: Ways to say it; ``{obj}``, ``{recep}`` and ``{lamp}`` stand for the shown names.
        trait: What the object must allow ("" for anything that can be carried).
        state: The fact that must come true of it ("" for none).
        verb: The command that brings it about.
        device: The receptacle type where that is done; never the target.
        count: How many objects are to be brought (0: to be looked at under a lamp).
    """

    rooms: tuple[Room, ...]
    sentences: tuple[str, ...]
    trait: str = ""
    state: str = ""
    verb: str = ""
    device: str = ""
    count: int = 1


_ANYWHERE: tuple[Room, ...] = ("Kitchen", "LivingRoom", "Bedroom", "Bathroom")

TASKS: dict[str, TaskType] = {
    "pick_and_place_simple": TaskType(_ANYWHERE, ("put a {obj} in {recep}", "put some {obj} on {recep}")),
    "look_at_obj_in_light": TaskType(
        ("LivingRoom", "Bedroom"), ("look at {obj} under the {lamp}", "examine the {obj} with the {lamp}"), count=0
    ),
    "pick_clean_then_place_in_recep": TaskType(
        ("Kitchen", "Bathroom"),
        ("put a clean {obj} in {recep}", "clean some {obj} and put it in {recep}"),
        "cleanable",
        "isClean",
        "clean",
        "SinkBasin",
    ),
    "pick_heat_then_place_in_recep": TaskType(
        ("Kitchen",),
        ("put a hot {obj} in {recep}", "heat some {obj} and put it in {recep}"),
        "heatable",
        "isHot",
        "heat",
        "Microwave",
    ),
    "pick_cool_then_place_in_recep": TaskType(
        ("Kitchen",),
        ("put a cool {obj} in {recep}", "cool some {obj} and put it in {recep}"),
        "coolable",
        "isCool",
        "cool",
        "Fridge",
    ),
    "pick_two_obj_and_place": TaskType(
        _ANYWHERE, ("put two {obj} in {recep}", "find two {obj} and put them in {recep}"), count=2
    ),
}
"""Task type -> what it asks for. The sentences are worded as in the published games, which every ALFWorld prompt and
parser expects."""

TASK_TYPES: tuple[str, ...] = tuple(TASKS)
