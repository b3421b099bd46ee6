# seed: 6
# actions: ["cast spark", "cast frost power=2", "cast frost", "cast heal amount=five", "cast heal amount=4", "cast nova power=3 double=yes", "cast blink", "cast spark times=2", "cast nova power=6"]
# expect_total: 1.6 after 8 steps
"""Wizard duel. Spells register themselves with a decorator; arguments are bound from their signatures."""

import functools
import inspect
import random

SPELLS = {}


class DuelError(Exception):
    """Base error."""


class UnknownSpell(DuelError, LookupError):
    def __init__(self, name, known=()):
        self.name = name
        self.known = tuple(known)
        super().__init__(f"unknown spell {name!r}; known: {', '.join(self.known)}")


class Fizzle(DuelError):
    pass


def spell(name=None, *, mana=1):
    """Register a spell. Usable as @spell(mana=2)."""

    def decorate(func):
        @functools.wraps(func)
        def wrapper(duel, **kwargs):
            if duel.mana < mana:
                raise Fizzle(f"{func.__name__} needs {mana} mana")
            duel.mana -= mana
            wrapper.calls += 1
            return func(duel, **kwargs)

        wrapper.calls = 0
        wrapper.mana = mana
        SPELLS[name or func.__name__] = wrapper
        return wrapper

    return decorate


@spell(mana=1)
def spark(duel, times: int = 1):
    """Small damage, several times."""
    return duel.hit(sum(duel.rng.randint(1, 3) for _ in range(times)))


@spell(mana=2)
def frost(duel, power: int):
    """Damage and slow."""
    duel.slowed = True
    return duel.hit(power * 2)


@spell("heal", mana=1)
def cast_heal(duel, amount: int = 3):
    """Restore hit points."""
    before, duel.hp = duel.hp, min(20, duel.hp + amount)
    return duel.hp - before, 0.0


@spell(mana=4)
def nova(duel, power: int, double: bool = False):
    """Big damage."""
    return duel.hit(power * (2 if double else 1))


CONVERTERS = {int: int, bool: lambda s: s.lower() in {"yes", "true", "1"}, str: str}


def bind(func, pairs):
    sig = inspect.signature(func)
    params = list(sig.parameters.values())[1:]
    out = {}
    for p in params:
        if p.name in pairs:
            conv = CONVERTERS.get(p.annotation, str)
            try:
                out[p.name] = conv(pairs[p.name])
            except ValueError as exc:
                raise Fizzle(f"{p.name} must be {p.annotation.__name__}") from exc
        elif p.default is inspect.Parameter.empty:
            raise Fizzle(f"missing argument {p.name}")
    return out


class Env:
    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.hp, self.foe, self.mana = 15, 18, 6
        self.slowed = False
        return "\n".join(f"{n} ({f.mana}): {f.__doc__}" for n, f in sorted(SPELLS.items()))

    def hit(self, dmg):
        dealt = min(dmg, self.foe)
        self.foe -= dealt
        return dealt, dealt / 18

    def step(self, action):
        verb, _, rest = action.partition(" ")
        info = {}
        try:
            name, *raw = rest.split()
            try:
                func = SPELLS[name]
            except KeyError:
                raise UnknownSpell(name, sorted(SPELLS)) from None
            amount, reward = func(self, **bind(func, dict(p.split("=", 1) for p in raw)))
            obs = f"{name}: {amount}"
        except UnknownSpell as e:
            obs, reward = str(e), -0.2
            info["suppressed"] = e.__suppress_context__
        except Fizzle as e:
            obs, reward = f"fizzle: {e}", -0.1
            info["cause"] = repr(e.__cause__)
        if self.foe > 0:
            self.hp -= 1 if self.slowed else self.rng.randint(1, 4)
        self.slowed = False
        self.mana += 1
        done = self.foe <= 0 or self.hp <= 0
        if done:
            reward += 1.0 if self.hp > 0 else -1.0
        return f"{obs} [hp {self.hp}, foe {self.foe}, mana {self.mana}]", reward, done, info
