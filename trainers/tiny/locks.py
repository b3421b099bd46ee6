"""Cipher locks: a tiny SPADE world in which one model of 86,000 parameters writes locks and opens them.

The designer's whole language is ``lock pin pin ...``: `compile_lock` makes of such a line, for the family that was
asked for, a real environment program, which goes through the real sandbox and its validation as any other. A lock shows
a sign for each pin; the key of a pin is the sign's image under the secret cipher of its family and place, which nothing
but training can teach. The hint is the row again, with the colour of the right key in the place of about half of the
signs; which colour a key has belongs to the form of the answers and is part of the warm start. (The row stands where it
does without a hint, right before the answer, so that what is learned without hints serves with them: a model of two
layers finds a word by how far back it is.) An agent's reply holds six words, so that locks of
seven and eight pins are beyond every agent, hint or no hint, though their own solutions open them.

The filter for hints that give an answer away (`metagym.spade.leaks`) does not see through colours, and a hint of this
world does tell a part of the answer: it stands in for the better player that a hint makes of a language model.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from metagym.playing.actor import ActorSettings, Conversation
from metagym.sandbox import SandboxPool, load
from metagym.seeding import derive, rng
from metagym.spade.config import SpadeConfig
from metagym.spade.designer import DesignerSettings, brief_text, request_for
from metagym.spade.hints import inject
from metagym.spade.hosts import PlayerSettings, Stage, staged
from metagym.spade.program import EnvProgram
from metagym.spade.samplers import Examples
from metagym.spade.seats import family_for
from metagym.spade.validation import ValidationSettings

PINS = 8
"""Most pins that a line can say."""
MOVES = 6
"""Words in one reply of the agent, and so the most pins that it can open."""
FAMILIES = ("sun", "moon")
"""The two kinds of locks; they are the skills that the designer is asked for."""
SIGNS = ("ruby", "jade", "opal", "onyx")
KEYS = ("iron", "zinc", "gold", "bronze")
COLOURS = ("red", "blue", "green", "pink")
"""Of the keys, in their order."""
WORDS = ("design", "play", "HINT", "lock", "pin", "blank", *FAMILIES, *SIGNS, *KEYS, *COLOURS)
"""The vocabulary; a tokenizer that drops all else makes of the real prompts a handful of ids."""

_SECRET = 7
_BROKEN, _HINTED = 0.7, 0.6  # shares of the warm start's examples: designs that are broken, plays that have a hint

_SOURCE = '''"""
title: Signs of the {family}
skill: {family}
domain: cipher locks
action_format: text
max_steps: 1
reward_range: [0, 1]
"""

SIGNS = {signs}
COLOURS = {colours}
CIPHER = {cipher}
KEPT = {kept}


class LockEnv(SyntheticEnv):
    """A sign for each pin; the key of a pin is what the cipher of its place makes of the sign."""

    def reset(self, seed):
        self.signs = self.draw()
        while len(CIPHER) > 1 and self.is_kept() != KEPT:
            self.signs = self.draw()
        self.keys = [table[sign] for table, sign in zip(CIPHER, self.signs)]
        self.told = [self.rng.random() < 0.5 for _ in CIPHER]
        self.over = False
        return " ".join(["{family}", *self.signs, *["blank"] * ({most} - len(CIPHER))]), {{}}

    def draw(self):
        return [self.rng.choice(SIGNS) for _ in CIPHER]

    def is_kept(self):
        mixed = 0
        for sign in self.signs:
            mixed = (mixed * 31 + SIGNS.index(sign) + 1) % 9973
        return mixed % 5 == 0

    def step(self, action):
        if self.over:
            return "The lock is at rest.", 0.0, True, False, {{}}
        self.over = True
        tried = action.split()
        right = sum(one == key for one, key in zip(tried, self.keys))
        if right == len(tried) == len(self.keys):
            return "It opens.", 1.0, True, False, {{}}
        return "It stays shut.", 0.5 * right / max(len(tried), len(self.keys)), True, False, {{}}

    def hint(self):
        row = [COLOURS[key] if told else sign for sign, key, told in zip(self.signs, self.keys, self.told)]
        return " ".join([*row, *["blank"] * ({most} - len(CIPHER))])

    def solution(self):
        return [" ".join(self.keys)]
'''


@cache
def cipher(family: str) -> tuple[dict[str, str], ...]:
    """The secret of a family: from sign to key, a table for each place."""
    draw = rng(_SECRET, "cipher", family)
    return tuple(dict(zip(SIGNS, draw.sample(KEYS, len(KEYS)), strict=True)) for _ in range(PINS))


@cache
def lock_source(family: str, pins: int, kept: bool = False) -> str:
    """The program of a lock.

    Args:
        family: One of `FAMILIES`.
        pins: 1 to `PINS`.
        kept: False shows the rows of signs that are for training; True the fifth of them (of two pins and more) that
            is kept for evaluation.
    """
    return _SOURCE.format(
        family=family,
        signs=SIGNS,
        colours=dict(zip(KEYS, COLOURS, strict=True)),
        cipher=list(cipher(family)[:pins]),
        kept=kept,
        most=PINS,
    )


def pins_of(line: str) -> int | None:
    """The number of pins that a line of the designer asks for; None where it is no line of the language."""
    words = line.split()
    pins = len(words) - 1
    return pins if words[:1] == ["lock"] and 1 <= pins <= PINS and set(words[1:]) == {"pin"} else None


def pins_in(source: str) -> int | None:
    """The number of pins of a program of this world; None for any other, and for those kept for evaluation."""
    return _pins().get(source)


@cache
def _pins() -> dict[str, int]:
    return {lock_source(family, pins): pins for family in FAMILIES for pins in range(1, PINS + 1)}


def line_of(pins: int) -> str:
    """The line that asks for a lock."""
    return " ".join(["lock", *["pin"] * pins])


def compile_lock(reply: str, skill: str) -> str:
    """The program of a reply; a reply that is no line of the language stays as it is, for the validation to refuse.

    Args:
        reply: What the designer wrote.
        skill: The family that was asked for.
    """
    pins = pins_of(reply)
    return reply if pins is None else lock_source(skill, pins)


def edit_lock(source: str, seed: int) -> str:
    """The line of a lock with one pin more or less than another one.

    Args:
        source: The other one.
        seed: Decides which.
    """
    return line_of(min(PINS, max(1, (pins_in(source) or 1) + (1 if seed % 2 else -1))))


PAY: Mapping[str, tuple[str, dict[str, float]]] = {
    "regret": ("spade_regret", {"invalid": -0.5}),
    "blend": ("spade_blend", {}),
    "absolute": ("absolute", {}),
    "minimax": ("minimax", {}),
}
"""What the designer may be paid: name and options of the reward (`metagym.spade.controls.reward_of`)."""


def lock_config(pay: str = "regret", *, seed: int = 0, plays: int = 4) -> SpadeConfig:
    """The settings of `metagym.spade` for this world.

    Args:
        pay: The designer's reward, one of `PAY`: regret, SPADE's blend, or one of the two controls.
        seed: Decides everything that is drawn.
        plays: Plays of one row of signs in each arm; a hint is for one row.
    """
    reward, options = PAY[pay]
    return SpadeConfig(
        skills=FAMILIES,
        skills_per_round=len(FAMILIES),
        seeds=1,
        repeats=plays,
        hint="program",
        reward=reward,
        reward_options=options,
        corpus=None,
        memory=False,
        seed=seed,
        keep_episodes=0,
        # One reply opens a lock, and one in four opens a single pin by luck; lines of the language repeat themselves.
        validation=ValidationSettings(trivial_share=0.6, min_steps=1, novelty=False),
        player=PlayerSettings(max_steps=1, seat=ActorSettings(temperature=1.0, max_tokens=MOVES)),
        designer_seat=DesignerSettings(temperature=1.0, max_tokens=PINS + 4),
    )


# --- playing without a sandbox


class _Twin:
    """A lock in this process: what `metagym.sandbox.AsyncProgram` is to a program, at a tenth of the cost."""

    def __init__(self, family: str, pins: int) -> None:
        self._family, self._cipher = family, cipher(family)[:pins]
        self._keys: dict[int, list[str]] = {}
        self._hints: dict[int, list[str]] = {}
        self._over: set[int] = set()

    async def reset(self, seed: int, session: int = 0, fresh: bool = False) -> tuple[str, dict[str, Any]]:
        draw = Random(seed)
        signs = [draw.choice(SIGNS) for _ in self._cipher]
        while len(signs) > 1 and _is_kept(signs):
            signs = [draw.choice(SIGNS) for _ in self._cipher]
        self._keys[session] = [table[sign] for table, sign in zip(self._cipher, signs, strict=True)]
        colour = dict(zip(KEYS, COLOURS, strict=True))
        told = [draw.random() < 0.5 for _ in signs]
        self._hints[session] = [
            colour[key] if tell else sign for sign, key, tell in zip(signs, self._keys[session], told, strict=True)
        ]
        self._over.discard(session)
        return " ".join([self._family, *signs, *["blank"] * (PINS - len(signs))]), {}

    async def step(self, action: str, session: int = 0) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if session in self._over:
            return "The lock is at rest.", 0.0, True, False, {}
        self._over.add(session)
        tried, keys = action.split(), self._keys[session]
        right = sum(one == key for one, key in zip(tried, keys, strict=False))
        if right == len(tried) == len(keys):
            return "It opens.", 1.0, True, False, {}
        return "It stays shut.", 0.5 * right / max(len(tried), len(keys)), True, False, {}

    async def ask(self, method: str, *args: Any, session: int = 0) -> Any:
        keys = self._keys[session]
        if method == "solution":
            return [" ".join(keys)]
        return " ".join([*self._hints[session], *["blank"] * (PINS - len(keys))])


def _is_kept(signs: Sequence[str]) -> bool:
    mixed = 0
    for sign in signs:
        mixed = (mixed * 31 + SIGNS.index(sign) + 1) % 9973
    return mixed % 5 == 0


@asynccontextmanager
async def twin_stage(
    program: EnvProgram, pool: SandboxPool | None = None, *, max_steps: int | None = None
) -> AsyncIterator[Stage]:
    """Stages a lock in this process instead of the sandbox: `metagym.spade.hosts.staged` for this world alone.

    The program was judged in the sandbox before; that its episodes and those of its twin are equal is tested. Programs
    of any other text are staged in the sandbox.

    Args:
        program: The program.
        pool: See `metagym.spade.hosts.staged`.
        max_steps: The agent's own cap on steps.
    """
    pins = pins_in(program.source)
    if pins is None:
        async with staged(program, pool, max_steps=max_steps) as stage:
            yield stage
        return
    twin: Any = _Twin(program.skill, pins)
    yield Stage(program, twin, family_for(program, max_steps))


# --- the warm start: form alone


def example(number: int, seed: int = 0) -> tuple[list[dict[str, str]], str]:
    """An example of form for `metagym_trainers.tiny.models.warm_start`; random keys tell nothing of a cipher.

    Every fourth is a design, most of them broken; the others are plays, more than half of them with a hint, whose
    colours go with the keys of the answer.

    Args:
        number: Of the example.
        seed: Of the warm start.
    """
    draw = rng(seed, "form", number)
    family = draw.choice(FAMILIES)
    if number % 4 == 0:
        pins = 1
        while pins < PINS and draw.random() < 0.5:
            pins += 1
        line = line_of(pins).split()
        if draw.random() < _BROKEN:
            at, other = draw.randrange(len(line)), draw.choice(WORDS)
            line = draw.choice(
                [line[:at] + line[at + 1 :], [*line[:at], other, *line[at + 1 :]], [*line[:at], other, *line[at:]]]
            )
        return design_prompt(family), " ".join(line)
    pins = draw.randint(1, PINS)
    keys = [draw.choice(KEYS) for _ in range(pins)]
    signs = [draw.choice(SIGNS) for _ in range(pins)]
    hint = None
    if draw.random() < _HINTED:
        colour = dict(zip(KEYS, COLOURS, strict=True))
        told = [colour[key] if draw.random() < 0.5 else sign for sign, key in zip(signs, keys, strict=True)]
        hint = " ".join([*told, *["blank"] * (PINS - pins)])
    observation = " ".join([family, *signs, *["blank"] * (PINS - pins)])
    return play_prompt(family, pins, inject(observation, hint)), " ".join(keys[:MOVES])


def design_prompt(family: str) -> list[dict[str, str]]:
    """The designer's conversation, as the core of the trainer asks it."""
    request = request_for(brief_text(family, None, Examples(), 0), "games", DesignerSettings(), 0)
    return [{"role": message.role, "content": message.content} for message in request.messages]


def play_prompt(family: str, pins: int, observation: str) -> list[dict[str, str]]:
    """The agent's conversation, as `metagym.play` asks it.

    Args:
        family: Of the lock.
        pins: Of the lock.
        observation: The first one, with the hint if there is any.
    """
    played = family_for(_program(family, pins), 1)
    assert played.answer is not None
    conversation = Conversation("", played.instructions, ActorSettings(), played.answer.ask)
    conversation.observe(observation, None)
    return [{"role": one.role, "content": one.content} for one in conversation.request(0, None).messages]


@cache
def _program(family: str, pins: int) -> EnvProgram:
    return EnvProgram.parse(lock_source(family, pins))


# --- evaluation


@dataclass(frozen=True)
class Rung:
    """One lock of the ladder.

    Attributes:
        family: Of the lock.
        pins: Of the lock.
        seed: Of the episode.
        prompt: The agent's conversation.
    """

    family: str
    pins: int
    seed: int
    prompt: list[dict[str, str]]


def rungs(count: int = 32, *, hinted: bool = False, seed: int = 99, pool: SandboxPool | None = None) -> list[Rung]:
    """Locks of 1 to `MOVES` pins whose rows of signs never occur in training (those of one pin do: there are four).

    Args:
        count: Locks per family and number of pins.
        hinted: Show the hints.
        seed: Decides the rows.
        pool: The sandbox; None for the shared one.
    """
    made: list[Rung] = []
    for family in FAMILIES:
        for pins in range(1, MOVES + 1):
            with closing(load(lock_source(family, pins, kept=True), pool=pool)) as lock:
                for number in range(count):
                    own = derive(seed, "rung", family, pins, number) >> 32
                    observation, _ = lock.reset(own)
                    hint = str(lock.ask("hint")) if hinted else None
                    made.append(Rung(family, pins, own, play_prompt(family, pins, inject(str(observation), hint))))
    return made


def climb(ladder: Sequence[Rung], answers: Sequence[str], pool: SandboxPool | None = None) -> list[float]:
    """The share of locks that the answers open, for 1 to `MOVES` pins.

    Args:
        ladder: Of `rungs`.
        answers: One for each.
        pool: The sandbox; None for the shared one.
    """
    won: dict[int, list[bool]] = {pins: [] for pins in range(1, MOVES + 1)}
    by_lock: dict[tuple[str, int], list[tuple[Rung, str]]] = {}
    for rung, answer in zip(ladder, answers, strict=True):
        by_lock.setdefault((rung.family, rung.pins), []).append((rung, answer))
    for (family, pins), tried in by_lock.items():
        program = EnvProgram.parse(lock_source(family, pins, kept=True))
        with closing(load(program.source, pool=pool)) as lock:
            for rung, answer in tried:
                lock.reset(rung.seed)
                found: Any = lock.step(answer)
                won[pins].append(program.solved(found[1], found[2]))
    return [sum(wins) / len(wins) for wins in won.values() if wins]
