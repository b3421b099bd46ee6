"""A tiny engine in the shape of nle's: a walled strip with an apple and a staircase, driven by NetHack's keys."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from metagym_envs.minihack.engine import Game
from metagym_envs.minihack.levels import Level

LEVEL = Level("Fake-Strip-v0", "Strip", "Eat the apple.")
WIDTH = 12
_WORDS = {"|": "wall", "-": "wall", ".": "floor of a room", "%": "an apple", ">": "staircase down", "@": "human"}


def padded(text: str, size: int) -> np.ndarray:
    return np.frombuffer(text.encode("latin-1").ljust(size, b"\0"), dtype=np.uint8).copy()


class FakeBase:
    """Ignores the seed of reset, as nle does, and honours the call ``seed(core, disp, reseed=...)``."""

    actions = tuple(ord(key) for key in "hjklHJKLe,s")

    def __init__(self) -> None:
        self._internal_index = 0
        self.last_observation: tuple[Any, ...] = (np.zeros(9, dtype=np.int32),)
        self.core: int | None = None
        self.keys: list[int] = []
        self.closed = False
        self.question = ""

    def seed(self, core: int | None = None, disp: int | None = None, reseed: bool = False) -> None:
        assert core == disp and reseed is False
        self.core = core

    def reset(self, seed: int | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        draw = random.Random(self.core) if self.core is not None else random.SystemRandom()
        self.apple, self.at, self.turn, self.food = draw.randrange(2, WIDTH - 2), 1, 1, 0
        self.look = draw.randrange(10**6)  # a number in the message tells seeds apart
        return self.observe(f"Room {self.look}."), {"end_status": 0}

    def observe(self, message: str) -> dict[str, Any]:
        row = ["|", *"." * (WIDTH - 2), "|"]
        row[WIDTH - 2] = ">"
        if self.apple:
            row[self.apple] = "%"
        row[self.at] = "@"
        lines = [" " * 3 + "-" * WIDTH, " " * 3 + "".join(row), " " * 3 + "-" * WIDTH]
        chars = np.full((21, 79), ord(" "), dtype=np.uint8)
        for number, line in enumerate(lines):
            chars[5 + number, : len(line)] = padded(line, len(line))
        told = np.zeros((21, 79, 80), dtype=np.uint8)
        for y, x in np.argwhere(chars != ord(" ")).tolist():
            told[y, x] = padded(_WORDS[chr(chars[y, x])], 80)
        stats = np.zeros(27, dtype=np.int64)
        stats[[0, 1, 10, 11, 20]] = [3 + self.at, 6, 9, 10, self.turn]
        letters, names, kinds = np.zeros(55, np.uint8), np.zeros((55, 80), np.uint8), np.zeros(55, np.uint8)
        things = [("a", "a club (weapon in hand)", 2)] + [("b", "an apple", 7)] * self.food
        for number, (letter, name, kind) in enumerate(things):
            letters[number], names[number], kinds[number] = ord(letter), padded(name, 80), kind
        self.last_observation[0][1] = bool(self.question)
        return {
            "message": padded(message, 256),
            "blstats": stats,
            "chars": chars,
            "glyphs": chars.astype(np.int16) + 2000,
            "inv_strs": names,
            "inv_letters": letters,
            "inv_oclasses": kinds,
            "screen_descriptions": told,
        }

    def step(self, key: int) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        self.keys.append(key)
        letter, asked = chr(key), self.question
        self.question, message, reward, end = "", "", 0.0, 0
        if asked:
            eaten = letter == ("y" if "here" in asked else "b")
            message, reward, end = ("Yum.", 1.0, 2) if eaten else ("Never mind.", -0.01, 0)
        elif letter in "hlHL":
            for _ in range(1 if letter.islower() else WIDTH):
                to = self.at + (1 if letter in "lL" else -1)
                if to in (0, WIDTH - 1):
                    message = message or "It's a wall."
                    break
                self.at, self.turn, message = to, self.turn + 1, ""
                if self.at == self.apple:
                    message = "You see here an apple."
                    break
            if self.at == WIDTH - 2:
                reward, end = 1.0, 2
        elif letter == "," and self.at == self.apple:
            self.apple, self.food, message = 0, 1, "b - an apple."
        elif letter == "e":
            here, message, reward = self.at == self.apple, "You have nothing to eat.", -0.01
            if here or self.food:
                message = self.question = (
                    "There is an apple here; eat it? [ynq] (n) " if here else "What do you want to eat? [b or ?*] "
                )
        elif letter == "s":
            self.turn += 1
        if not end and len(self.keys) >= 60:
            end = -1
        return self.observe(message), reward, end != 0, end == -1, {"end_status": end}

    def close(self) -> None:
        self.closed = True


class SeedlessBase(FakeBase):
    """No seeding call at all."""

    seed = None  # type: ignore[assignment]


class DeafBase(FakeBase):
    """Takes the call, and tells afterwards that it plays another seed."""

    def get_seeds(self) -> tuple[int, int, bool]:
        return 1234567, 7654321, False


def opener(kind: type[FakeBase] = FakeBase, opened: list[FakeBase] | None = None) -> Any:
    """What a `MiniHackGame` opens its level with."""

    def open_level(level: Level) -> Game:
        base = kind()
        if opened is not None:
            opened.append(base)
        return Game(base)

    return open_level
