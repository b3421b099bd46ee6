# seed: 0
# actions: ["push", "coin", "coin", "push", "kick", "kick", "repair", "coin", "push", "shutdown"]
# expect_total: 1.37 after 10 steps
# Finite state machine toolkit: descriptors, __set_name__, class decorator, __init_subclass__.
import random
from enum import Enum, auto


class S(Enum):
    LOCKED = auto()
    UNLOCKED = auto()
    BROKEN = auto()
    OFF = auto()

    @property
    def terminal(self):
        return self is S.OFF


class Bounded:
    """Descriptor that clamps numbers."""

    def __init__(self, lo, hi, default=0):
        self.lo, self.hi, self.default = lo, hi, default

    def __set_name__(self, owner, name):
        self.slot = "_" + name

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return getattr(obj, self.slot, self.default)

    def __set__(self, obj, value):
        setattr(obj, self.slot, max(self.lo, min(self.hi, value)))


class Transition:
    __slots__ = ("source", "event", "target", "action", "reward")

    def __init__(self, source, event, target, action=None, reward=0.0):
        self.source, self.event, self.target = source, event, target
        self.action, self.reward = action, reward

    def __repr__(self):
        return f"<{self.source.name} --{self.event}--> {self.target.name}>"

    def __iter__(self):
        yield from (self.source, self.event, self.target)


def transitions(*rows):
    """Class decorator: attaches a transition table."""

    def wrap(cls):
        cls.TABLE = {(t.source, t.event): t for t in (Transition(*r) for r in rows)}
        return cls

    return wrap


class Machine:
    kinds = []
    initial: S

    def __init_subclass__(cls, initial=S.LOCKED, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.initial = initial
        Machine.kinds.append(cls.__name__)

    def fire(self, event):
        t = self.TABLE.get((self.state, event))
        if t is None:
            return None
        self.state = t.target
        if t.action:
            getattr(self, t.action)()
        return t


@transitions(
    (S.LOCKED, "coin", S.UNLOCKED, "take", 0.1),
    (S.UNLOCKED, "coin", S.UNLOCKED, "take", -0.05),
    (S.UNLOCKED, "push", S.LOCKED, "admit", 0.5),
    (S.LOCKED, "kick", S.LOCKED, "damage", -0.1),
    (S.BROKEN, "repair", S.LOCKED, "fix", 0.05),
    (S.LOCKED, "shutdown", S.OFF),
    (S.BROKEN, "shutdown", S.OFF, None, -1.0),
)
class TurnstileEnv(Machine, initial=S.LOCKED):
    coins = Bounded(0, 5)
    wear = Bounded(0, 100)
    people = Bounded(0, 10)

    def reset(self):
        self.rng = random.Random(1234)
        self.state = self.initial
        self.coins = self.wear = self.people = 0
        return self.state.name

    def take(self):
        self.coins += 1

    def admit(self):
        self.people += 1

    def damage(self):
        self.wear += self.rng.randint(40, 80)
        if self.wear >= 100:
            self.state = S.BROKEN

    def fix(self):
        self.wear = 0

    def step(self, action):
        t = self.fire(action)
        if t is None:
            return f"{self.state.name}: ignored", -0.03, False
        reward = t.reward
        if self.state.terminal:
            reward += 0.2 * self.people
        src, ev, dst = t
        return f"{src.name}/{ev}/{self.state.name} {t!r} coins={self.coins}", reward, self.state.terminal
