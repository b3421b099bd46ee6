# seed: 13
# actions: ["attack", "attack", "guard", "stun", "attack", "attack", "attack", "dance", "potion", "attack", "attack", "attack", "attack"]
# expect_total: 2.3583 after 12 steps
"""Turn-based RPG combat with status effects, potions and three monsters in sequence."""
import random
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Flag, auto


class Status(Flag):
    NONE = 0
    POISONED = auto()
    STUNNED = auto()
    SHIELDED = auto()


@dataclass
class Fighter(ABC):
    hp: int
    power: int
    status: Status = Status.NONE
    log: list[str] = field(default_factory=list, repr=False)

    @property
    def alive(self):
        return self.hp > 0

    @property
    def name(self):
        return type(self).__name__

    def hurt(self, amount):
        if self.status & Status.SHIELDED:
            amount //= 2
            self.status &= ~Status.SHIELDED
        self.hp = max(0, self.hp - amount)
        return amount

    def tick(self):
        if Status.POISONED in self.status:
            self.hp = max(0, self.hp - 1)
            return f"{self.name} suffers from poison. "
        return ""

    @abstractmethod
    def act(self, target, rng):
        """Take a turn and describe it."""


class Hero(Fighter):
    def __init__(self):
        super().__init__(hp=24, power=5)
        self.potions = 2
        self.mana = 3

    def act(self, target, rng):
        dealt = target.hurt(self.power + rng.randint(-1, 2))
        return f"You hit {target.name} for {dealt}. "

    def __str__(self):
        return f"Hero hp={self.hp} mana={self.mana} potions={self.potions} status={self._flags()}"

    def _flags(self):
        return "+".join(s.name.lower() for s in Status if s in self.status and s is not Status.NONE) or "fine"


class Goblin(Fighter):
    def act(self, target, rng):
        n = sum(target.hurt(self.power) for _ in range(rng.randint(1, 2)))
        return f"Goblin slashes for {n}. "


class Spider(Fighter):
    def act(self, target, rng):
        dealt = target.hurt(self.power)
        if rng.random() < 0.4:
            target.status |= Status.POISONED
            return f"Spider bites for {dealt} and poisons you. "
        return f"Spider bites for {dealt}. "


class Ogre(Fighter):
    charging = False

    def act(self, target, rng):
        if self.charging:
            self.charging = False
            return f"Ogre smashes for {target.hurt(self.power * 2)}! "
        self.charging = rng.random() < 0.6
        if self.charging:
            return "Ogre raises its club. "
        return f"Ogre kicks for {target.hurt(self.power // 2)}. "


class Env:
    def __init__(self):
        self._commands = {
            "attack": self._attack,
            "guard": self._guard,
            "potion": self._potion,
            "stun": self._stun,
        }

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.hero = Hero()
        self.queue = [Goblin(8, 2), Spider(10, 2), Ogre(14, 4)]
        self.rng.shuffle(self.queue)
        self.turn = 0
        self.foe = self.queue.pop(0)
        return self._view(f"A {self.foe.name} appears!"), {"left": len(self.queue)}

    def _view(self, text):
        return f"{text}\n{self.hero}\n{self.foe.name} hp={self.foe.hp}\nActions: {' | '.join(self._commands)}"

    def _attack(self):
        return self.hero.act(self.foe, self.rng)

    def _guard(self):
        self.hero.status |= Status.SHIELDED
        self.hero.mana = min(3, self.hero.mana + 1)
        return "You raise your shield. "

    def _potion(self):
        if not self.hero.potions:
            return "The flask is empty. "
        self.hero.potions -= 1
        self.hero.hp = min(24, self.hero.hp + 8)
        self.hero.status &= ~Status.POISONED
        return "You feel better. "

    def _stun(self):
        if self.hero.mana < 2:
            return "Not enough mana. "
        self.hero.mana -= 2
        self.foe.status |= Status.STUNNED
        return f"{self.foe.name} is stunned. "

    def step(self, action):
        cmd = self._commands.get(action.strip().lower())
        if cmd is None:
            return self._view("What?"), -0.1, False, False, {}
        self.turn += 1
        text, reward = cmd(), 0.0
        if self.foe.alive:
            if Status.STUNNED in self.foe.status:
                self.foe.status ^= Status.STUNNED
                text += f"{self.foe.name} cannot move. "
            else:
                text += self.foe.act(self.hero, self.rng)
        text += self.hero.tick()
        won = False
        if self.hero.alive and not self.foe.alive:
            reward += 0.5
            text += f"{self.foe.name} is defeated! "
            won = not self.queue
            if self.queue:
                self.foe = self.queue.pop(0)
                text += f"A {self.foe.name} appears! "
        if won:
            reward += 0.5 + self.hero.hp / 24
        elif not self.hero.alive:
            reward -= 1.0
        return self._view(text), round(reward, 4), won or not self.hero.alive, self.turn >= 30, {"turn": self.turn, "hp": self.hero.hp}
