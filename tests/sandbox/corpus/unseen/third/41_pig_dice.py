# seed: 30
# actions: ["roll", "roll", "hold", "roll", "roll", "roll", "roll", "roll", "roll", "hold", "roll", "hold", "pass", "roll", "roll", "roll", "roll", "roll", "roll", "hold"]
# expect_total: 1.45 after 20 steps
"""Pig: push-your-luck dice race to 40 against a hold-at-N bot (gymnasium style, numpy dice)."""
from typing import Any, Generic, Optional, SupportsFloat, TypeVar

import numpy as np

ObsType = TypeVar("ObsType")
ActType = TypeVar("ActType")


class GymEnv(Generic[ObsType, ActType]):
    """The part of gymnasium.Env that we rely on."""

    _np_random: Optional[np.random.Generator] = None

    @property
    def np_random(self) -> np.random.Generator:
        if self._np_random is None:
            self._np_random = np.random.default_rng()
        return self._np_random

    def reset(self, *, seed: Optional[int] = None) -> tuple[ObsType, dict[str, Any]]:
        if seed is not None:
            self._np_random = np.random.default_rng(seed)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        raise NotImplementedError

    @property
    def unwrapped(self):
        return self


class PigBot:
    """Holds at a threshold, but plays on when the other side is about to win."""

    def __init__(self, rng, threshold):
        self._rng = rng
        self._threshold = threshold

    def take_turn(self, own, other, goal):
        pot, rolls = 0, []
        limit = self._threshold if goal - other > 10 else 25
        while pot < limit and own + pot < goal:
            r = int(self._rng.integers(1, 7))
            rolls.append(r)
            if r == 1:
                return 0, rolls
            pot += r
        return pot, rolls


class Env(GymEnv[str, str]):
    GOAL = 40

    def __init__(self):
        super().__init__()
        self.reset(seed=0)

    def reset(self, seed=None):
        super().reset(seed=seed)
        self._bot = PigBot(self.np_random, self.np_random.choice([10, 15, 20]))
        self._me = self._them = self._pot = 0
        self._turns = 0
        return self._text(["Race to %d. 'roll' or 'hold'." % self.GOAL]), {"threshold": None}

    def _text(self, lines):
        bar = lambda n: "#" * (n // 2)
        lines = list(lines)
        lines.append("you %3d %s" % (self._me, bar(self._me)))
        lines.append("bot %3d %s" % (self._them, bar(self._them)))
        lines.append("pot %3d" % self._pot)
        return "\n".join(lines)

    def _bot_turn(self, lines):
        gain, rolls = self._bot.take_turn(self._them, self._me, self.GOAL)
        self._them += gain
        lines.append("Bot rolls %s and %s." % (rolls, "banks %d" % gain if gain else "busts"))
        return self._them >= self.GOAL

    def step(self, action):
        action = action.strip().lower()
        lines, reward, done = [], 0.0, False
        if action == "roll":
            die = int(self.np_random.integers(1, 7))
            if die == 1:
                lines.append("You roll 1 and lose the pot of %d." % self._pot)
                reward = -0.01 * self._pot
                self._pot = 0
                done = self._bot_turn(lines)
                if done:
                    reward -= 1
            else:
                self._pot += die
                lines.append("You roll %d." % die)
        elif action == "hold":
            self._me += self._pot
            reward = 0.01 * self._pot
            self._pot = 0
            if self._me >= self.GOAL:
                lines.append("You win!")
                reward, done = reward + 1, True
            elif self._bot_turn(lines):
                reward, done = reward - 1, True
        else:
            return self._text(["Please roll or hold."]), -0.05, False, False, {}
        self._turns += 1
        return self._text(lines), round(reward, 6), done, (not done and self._turns >= 100), {"me": self._me, "bot": self._them}
