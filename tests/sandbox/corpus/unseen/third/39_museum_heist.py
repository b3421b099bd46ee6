# seed: 2
# actions: ["go cafe", "go sculpture", "go gallery", "go vault", "wait", "go gallery", "go vault", "take", "wait", "listen", "jump", "go gallery", "go lobby", "escape"]
# expect_total: 1.43 after 14 steps
"""Museum heist: a text adventure where guards patrol fixed routes that you must time."""
import random
from collections import defaultdict, deque
from itertools import cycle, islice
from typing import NamedTuple

MAP = """
lobby-gallery
lobby-cafe
gallery-vault
gallery-sculpture
cafe-sculpture
sculpture-office
office-vault
"""


class Loot(NamedTuple):
    name: str
    value: int
    noise: float


class Guard:
    def __init__(self, name, route):
        self.name = name
        self.route = route
        self._it = cycle(route + route[-2:0:-1])
        self.room = next(self._it)
        self.alert = False

    def advance(self):
        self.room = next(self._it)

    def forecast(self, n=2):
        i = self.route.index(self.room)
        return list(islice(cycle(self.route), i, i + n))


class Museum:
    def __init__(self):
        self.graph = defaultdict(set)
        for line in MAP.split():
            a, b = line.split("-")
            self.graph[a].add(b)
            self.graph[b].add(a)

    def neighbours(self, room):
        return sorted(self.graph[room])

    def path(self, start, goal):
        prev = {start: None}
        q = deque([start])
        while q:
            cur = q.popleft()
            if cur == goal:
                break
            for n in self.neighbours(cur):
                if n not in prev:
                    prev[n] = cur
                    q.append(n)
        route = []
        while goal is not None:
            route.append(goal)
            goal = prev[goal]
        return route[::-1]


class Env:
    TURNS = 18

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.museum = Museum()
        self.room = "lobby"
        self.guards = [
            Guard("Fred", self.museum.path("office", "lobby")),
            Guard("Gina", self.museum.path("vault", "cafe")),
        ]
        for g in self.guards:
            for _ in range(self.rng.randrange(3)):
                g.advance()
        self.loot = {
            "vault": Loot("diamond", 5, 0.3),
            self.rng.choice(["sculpture", "gallery"]): Loot("statuette", 3, 0.2),
            "office": Loot("cash box", 2, 0.1),
        }
        self.bag, self.turn = [], 0
        return "Steal what you can and 'escape' from the lobby. Commands: go ROOM, take, listen, wait, escape.\n" + self._look(), {"rooms": len(self.museum.graph)}

    def _look(self):
        bits = [f"You are in the {self.room}. Doors to: {', '.join(self.museum.neighbours(self.room))}."]
        if self.room in self.loot:
            bits.append(f"A {self.loot[self.room].name} is here.")
        near = [g for g in self.guards if g.room in self.museum.graph[self.room]]
        if near:
            bits.append("You hear footsteps from: " + ", ".join(sorted({g.room for g in near})) + ".")
        return " ".join(bits)

    def _caught(self, old):
        for g in self.guards:
            if g.room == self.room:
                return g
        return None

    def step(self, action):
        verb, _, arg = action.lower().strip().partition(" ")
        self.turn += 1
        old, reward, text = self.room, 0.0, ""
        if verb == "go" and arg in self.museum.graph[self.room]:
            self.room = arg
        elif verb == "take" and self.room in self.loot:
            item = self.loot.pop(self.room)
            self.bag.append(item)
            reward += 0.1 * item.value
            text = f"You pocket the {item.name}."
            if self.rng.random() < item.noise:
                nearest = min(self.guards, key=lambda g: len(self.museum.path(g.room, self.room)))
                nearest.alert = True
                text += f" It makes a noise! {nearest.name} heard it."
        elif verb == "listen":
            text = "; ".join(f"{g.name} is in the {g.room}" for g in self.guards)
            reward -= 0.02
        elif verb == "escape" and self.room == "lobby":
            value = sum(i.value for i in self.bag)
            return f"You slip out with loot worth {value}.", value / 5, True, False, {"loot": [i.name for i in self.bag]}
        elif verb != "wait":
            text, reward = "You can't do that.", -0.05
        for g in self.guards:
            if g.alert:
                p = self.museum.path(g.room, self.room)
                g.room = p[1] if len(p) > 1 else g.room
                g.alert = False
            else:
                g.advance()
        if guard := self._caught(old):
            return f"{text} {guard.name} catches you!".strip(), -1.0, True, False, {"loot": []}
        return f"{text} {self._look()}".strip(), reward, False, self.turn >= self.TURNS, {"turn": self.turn}
