# seed: 6
# actions: ["look", "go east", "take lamp", "go west", "inventory", "go north", "fight", "fight", "eat bread", "go north", "take gold", "go south", "drop lamp", "sing"]
# expect_total: -1.4 after 14 steps
import random

ROOMS = {
    "hall": {"desc": "A big hall.", "exits": {"north": "cave", "east": "kitchen"}},
    "kitchen": {"desc": "A dirty kitchen.", "exits": {"west": "hall"}},
    "cave": {"desc": "A dark cave.", "exits": {"south": "hall", "north": "vault"}},
    "vault": {"desc": "The vault of the king.", "exits": {"south": "cave"}},
}


class TextAdventure:
    def __init__(self):
        self.room = "hall"
        self.items = {}
        self.inventory = []
        self.hp = 10
        self.troll = 6

    def reset(self, seed=None):
        self.__init__()
        self.rng = random.Random(seed)
        self.items = {r: [] for r in ROOMS}
        for item in ["lamp", "sword", "bread"]:
            self.items[self.rng.choice(["hall", "kitchen"])].append(item)
        self.items["vault"].append("gold")
        return self.look()

    def look(self):
        if self.room == "cave" and "lamp" not in self.inventory:
            text = "It is too dark to see."
        else:
            text = ROOMS[self.room]["desc"]
            if self.items[self.room]:
                text += " You see: " + ", ".join(self.items[self.room]) + "."
        if self.room == "cave" and self.troll > 0:
            text += " A troll growls!"
        return text + " Exits: " + ", ".join(ROOMS[self.room]["exits"]) + ". HP: " + str(self.hp)

    def step(self, action):
        reward = -0.1
        words = action.lower().split()
        verb = words[0] if words else ""
        noun = words[1] if len(words) > 1 else None
        if verb == "look":
            msg = self.look()
        elif verb == "go":
            if noun in ROOMS[self.room]["exits"]:
                if self.room == "cave" and noun == "north" and self.troll > 0:
                    msg = "The troll blocks the way."
                    self.hp -= 1
                else:
                    self.room = ROOMS[self.room]["exits"][noun]
                    msg = self.look()
            else:
                msg = "You can't go there."
        elif verb == "take":
            if noun in self.items[self.room]:
                self.items[self.room].remove(noun)
                self.inventory.append(noun)
                msg = "Taken."
                reward += 1
                if noun == "gold":
                    return "You found the gold! You win!", 10, True, {"hp": self.hp}
            else:
                msg = "No such thing here."
        elif verb == "drop" and noun in self.inventory:
            self.inventory.remove(noun)
            self.items[self.room].append(noun)
            msg = "Dropped."
        elif verb == "inventory":
            msg = "You have: " + (", ".join(self.inventory) or "nothing")
        elif verb == "eat" and "bread" in self.inventory:
            self.inventory.remove("bread")
            self.hp += 5
            msg = "Yum."
        elif verb == "fight" and self.room == "cave" and self.troll > 0:
            hit = self.rng.randint(1, 3) + (2 if "sword" in self.inventory else 0)
            self.troll -= hit
            self.hp -= self.rng.randint(0, 3)
            msg = "You hit the troll for %d." % hit
            if self.troll <= 0:
                msg += " The troll is dead."
                reward += 3
        else:
            msg = "I don't understand."
        done = self.hp <= 0
        if done:
            msg = "You died."
            reward = -5
        return msg, reward, done, {"hp": self.hp}
