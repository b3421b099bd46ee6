# seed: 17
# actions: ["rock", "paper", "scissors", "scissors", "rock", "paper", "scissors", "lizard", "paper", "rock", "rock", "paper", "scissors"]
# expect_total: -5.5 after 13 steps
"""Iterated rock-paper-scissors against a hidden scripted bot; learn to exploit it."""
import random
from collections import Counter, deque
from enum import IntEnum
from typing import Generator, Protocol


class Move(IntEnum):
    ROCK = 0
    PAPER = 1
    SCISSORS = 2

    def beats(self, other: "Move") -> bool:
        return (self - other) % 3 == 1

    @property
    def counter(self) -> "Move":
        return Move((self + 1) % 3)


class Strategy(Protocol):
    def __call__(self, rng: random.Random) -> Generator[Move, Move, None]:
        ...


def cycler(rng):
    """Rock, paper, scissors... from a random start."""
    m = Move(rng.randrange(3))
    while True:
        yield m
        m = m.counter


def copycat(rng):
    """Plays whatever you played last."""
    last = yield rng.choice(list(Move))
    while True:
        last = yield last


def frequency(rng):
    """Counters your most common move."""
    seen = Counter()
    theirs = yield Move.ROCK
    while True:
        seen[theirs] += 1
        top, _ = max(seen.items(), key=lambda kv: (kv[1], -kv[0]))
        theirs = yield top.counter


def grudger(rng):
    """Repeats until it loses, then shifts."""
    m = rng.choice(list(Move))
    while True:
        theirs = yield m
        if theirs.beats(m):
            m = theirs.counter


def noisy(inner, p):
    def strategy(rng):
        gen = inner(rng)
        move = next(gen)
        while True:
            theirs = yield rng.choice(list(Move)) if rng.random() < p else move
            move = gen.send(theirs)
    strategy.__name__ = f"noisy_{inner.__name__}"
    return strategy


BOTS = [cycler, copycat, frequency, grudger, noisy(cycler, 0.2), noisy(copycat, 0.2)]


class Env:
    ROUNDS = 12

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        bot = self.rng.choice(BOTS)
        self.bot_name = bot.__name__
        self.bot = bot(self.rng)
        self.next_move = next(self.bot)
        self.history = deque(maxlen=5)
        self.score = Counter(win=0, loss=0, draw=0)
        return f"Play {self.ROUNDS} rounds of rock/paper/scissors against an unknown bot.", {}

    def step(self, action):
        try:
            mine = Move[action.strip().upper()]
        except KeyError:
            names = ", ".join(m.name.lower() for m in Move)
            return f"Choose one of: {names}", -0.5, False, False, {"invalid": True}
        theirs = self.next_move
        self.next_move = self.bot.send(mine)
        self.history.append((mine, theirs))
        if mine.beats(theirs):
            outcome, reward = "win", 1.0
        elif theirs.beats(mine):
            outcome, reward = "loss", -1.0
        else:
            outcome, reward = "draw", 0.0
        self.score[outcome] += 1
        played = sum(self.score.values())
        done = played >= self.ROUNDS
        recent = " ".join(f"{a.name[0]}/{b.name[0]}" for a, b in self.history)
        obs = f"Round {played}: you {mine.name.lower()}, bot {theirs.name.lower()} -> {outcome}. Recent (you/bot): {recent}"
        info = dict(self.score)
        if done:
            obs += f"\nFinal: {self.score['win']}-{self.score['loss']}-{self.score['draw']}. The bot was {self.bot_name}."
            info["bot"] = self.bot_name
        return obs, reward, done, False, info
