# seed: 3
# actions: ["roll", "bank", "roll", "roll", "roll", "bank", "roll", "roll", "bank", "roll", "roll", "bank", "roll", "roll", "roll", "bank"]
# expect_total: 2.2 after 16 steps
"""Push-your-luck dice game (like Pig / Farkle) against a bot with a fixed threshold."""
import random
from collections import Counter


def score_roll(dice):
    """Farkle-like scoring: 1s = 100, 5s = 50, three of a kind = 100 * face (1000 for ones), straight = 1500."""
    counts = Counter(dice)
    if sorted(counts) == [1, 2, 3, 4, 5, 6]:
        return 1500
    points = 0
    for face, n in counts.items():
        if n >= 3:
            points += (1000 if face == 1 else face * 100) * 2 ** (n - 3)
            n = 0
        if face == 1:
            points += 100 * n
        elif face == 5:
            points += 50 * n
    return points


class Player:
    def __init__(self, name):
        self.name = name
        self.total = 0
        self.farkles = 0

    def bank(self, pts):
        self.total += pts

    def __repr__(self):
        return f"{self.name}={self.total}"


class Bot(Player):
    def __init__(self, name, threshold):
        super().__init__(name)
        self.threshold = threshold

    def take_turn(self, roll):
        pot, n = 0, 6
        log = []
        while pot < self.threshold:
            dice = roll(n)
            pts = score_roll(dice)
            log.append(f"{dice}")
            if pts == 0:
                self.farkles += 1
                return 0, " ".join(log) + " farkle"
            pot += pts
            n = max(1, n - 1)
        self.bank(pot)
        return pot, " ".join(log) + f" banks {pot}"


class Env:
    GOAL = 2000

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.me = Player("you")
        self.bot = Bot("bot", self.rng.choice([300, 400, 500]))
        self.turns = 0
        self._new_turn()
        return self._obs("A new game: first to %d." % self.GOAL), {"bot_threshold": self.bot.threshold}

    def _roll(self, n):
        return sorted(self.rng.randint(1, 6) for _ in range(n))

    def _new_turn(self):
        self.pot = 0
        self.dice_left = 6
        self.turns += 1

    def _obs(self, msg):
        return "{}\nScores: {!r} {!r}\nTurn {}: pot {}, {} dice. roll or bank?".format(
            msg, self.me, self.bot, self.turns, self.pot, self.dice_left)

    def _bot_plays(self):
        gained, log = self.bot.take_turn(self._roll)
        return "Bot: " + log

    def step(self, action):
        cmd = action.strip().lower()
        reward = 0.0
        terminated = False
        if cmd == "roll":
            dice = self._roll(self.dice_left)
            pts = score_roll(dice)
            if pts:
                self.pot += pts
                self.dice_left = max(1, self.dice_left - 1)
                msg = f"You roll {dice}: {pts} points."
            else:
                self.me.farkles += 1
                reward = -self.pot / self.GOAL
                msg = f"You roll {dice}: farkle! {self._bot_plays()}"
                self._new_turn()
        elif cmd == "bank":
            if self.pot == 0:
                msg, reward = "There is nothing to bank.", -0.05
            else:
                self.me.bank(self.pot)
                reward = self.pot / self.GOAL
                msg = f"You bank {self.pot}."
                if self.me.total < self.GOAL:
                    msg += " " + self._bot_plays()
                self._new_turn()
        else:
            msg, reward = "Say roll or bank.", -0.05
        if self.me.total >= self.GOAL:
            terminated, reward, msg = True, reward + 1, msg + " You win!"
        elif self.bot.total >= self.GOAL:
            terminated, reward, msg = True, reward - 1, msg + " The bot wins."
        return self._obs(msg), reward, terminated, self.turns > 25, {"me": self.me.total, "bot": self.bot.total}
