# seed: 42
# actions: ["look", "take lamp", "go north", "go east", "take key", "inventory", "go west", "dance", "go south", "go east", "open chest", "go south", "drop lamp", "quit"]
# expect_total: 0.8 after 14 steps
import random


class Room:
    def __init__(self, name, description):
        self.name = name
        self.description = description
        self.exits = {}
        self.items = []

    def connect(self, direction, other):
        opposite = {"north": "south", "south": "north", "east": "west", "west": "east"}
        self.exits[direction] = other
        other.exits[opposite[direction]] = self


class Player:
    def __init__(self, location):
        self.location = location
        self.inventory = []
        self.health = 10


class TextAdventure:
    def __init__(self):
        self.rooms = {}
        self.player = None
        self.done = False
        self.moves = 0

    def reset(self, seed=None):
        random.seed(seed)
        hall = Room("Hall", "A dusty hall with faded portraits.")
        library = Room("Library", "Shelves of old books surround you.")
        cellar = Room("Cellar", "It is damp and dark. A locked chest sits in the corner.")
        garden = Room("Garden", "Overgrown roses block most of the path.")
        hall.connect("north", library)
        hall.connect("east", cellar)
        library.connect("east", garden)
        self.rooms = {r.name: r for r in [hall, library, cellar, garden]}
        hall.items.append("lamp")
        random.choice([library, garden]).items.append("key")
        self.player = Player(hall)
        self.done = False
        self.moves = 0
        return self.describe()

    def describe(self):
        room = self.player.location
        text = f"== {room.name} ==\n{room.description}"
        if room.items:
            text += "\nYou see: " + ", ".join(room.items)
        text += "\nExits: " + ", ".join(room.exits.keys())
        return text

    def step(self, action):
        self.moves += 1
        words = action.lower().split()
        verb = words[0] if words else ""
        noun = words[1] if len(words) > 1 else ""
        reward = 0
        p = self.player
        if verb == "look":
            obs = self.describe()
        elif verb == "go":
            if noun in p.location.exits:
                p.location = p.location.exits[noun]
                obs = self.describe()
                if p.location.name == "Cellar" and "lamp" not in p.inventory:
                    p.health -= random.randint(1, 3)
                    obs += "\nYou stumble in the dark and hurt yourself."
                    reward = -1
            else:
                obs = "You can't go that way."
                reward = -0.1
        elif verb == "take":
            if noun in p.location.items:
                p.location.items.remove(noun)
                p.inventory.append(noun)
                obs = f"You take the {noun}."
                reward = 1
            else:
                obs = f"There is no {noun} here."
        elif verb == "drop":
            if noun in p.inventory:
                p.inventory.remove(noun)
                p.location.items.append(noun)
                obs = f"You drop the {noun}."
            else:
                obs = "You don't have that."
        elif verb == "inventory":
            obs = "You carry: " + (", ".join(p.inventory) if p.inventory else "nothing")
        elif verb == "open" and noun == "chest" and p.location.name == "Cellar":
            if "key" in p.inventory:
                obs = "The chest opens. Gold! You win!"
                reward = 10
                self.done = True
            else:
                obs = "The chest is locked."
        elif verb == "quit":
            obs = "Goodbye."
            self.done = True
        else:
            obs = "I don't know how to do that."
            reward = -0.1
        if p.health <= 0 or self.moves >= 50:
            self.done = True
        return obs, reward, self.done, {"health": p.health, "moves": self.moves}


if __name__ == "__main__":
    env = TextAdventure()
    print(env.reset(seed=0))
    while not env.done:
        obs, reward, done, info = env.step(input("> "))
        print(obs, reward)
