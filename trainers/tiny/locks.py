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

`metagym_trainers.tiny.twins` plays locks without a sandbox, `metagym_trainers.tiny.ladder` measures who opens them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from metagym.playing.actor import ActorSettings, Conversation
from metagym.seeding import rng
from metagym.spade.config import SpadeConfig
from metagym.spade.designer import DesignerSettings, brief_text, request_for
from metagym.spade.hints import inject
from metagym.spade.hosts import PlayerSettings
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
