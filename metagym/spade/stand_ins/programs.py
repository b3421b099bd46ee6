"""Programs that the scripted designers write: families with one knob of known effect, and what must be refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SKILL_DEFAULT = "Logical Deduction"

RULES = {
    "fall back": (
        "A wrong turn lets the last pin fall back, unless it is the first wrong turn of the episode.",
        """
            self.count += 1
            if self.count > 1 and self.at > 0:
                self.at -= 1
                fallen = [place for place in range(self.PINS) if place >= self.at]
                text = text + f" A pin falls back; {len(fallen)} are open now."
            elif self.at == 0:
                text = text + " No pin was set yet."
""",
    ),
    "drift": (
        "After every third step the pin that is sought moves up by one.",
        """
            if self.steps % 3 == 0 and self.pins[self.at] < 59:
                moved = []
                for place, pin in enumerate(self.pins):
                    if place == self.at:
                        moved.append(pin + 1)
                    else:
                        moved.append(pin)
                self.pins = moved
""",
    ),
    "alarm": (
        "Five wrong turns in one episode block it for good.",
        """
            self.alarm = self.alarm + 1
            if self.alarm >= 5:
                self.over = True
                for place in range(len(self.pins)):
                    self.pins[place] = 0
                return "The lock is blocked for good.", 0.0, True, False, {"steps": self.steps}
""",
    ),
    "warmth": (
        "It says how warm the turn was.",
        """
            distance = abs(int(words[1][:6]) - self.pins[self.at])
            warmth = "cold"
            for bound, name in ((3, "hot"), (8, "warm"), (16, "mild")):
                if distance <= bound and warmth == "cold":
                    warmth = name
            text = f"{text} That was {warmth}."
""",
    ),
    "fatigue": (
        "Every second wrong turn tires you and costs one step more.",
        """
            self.tired = not self.tired
            while not self.tired:
                self.steps = self.steps + 1
                self.tired = True
                text = " ".join([text, "You are tired and lose a step."])
            self.tired = self.tired and self.steps % 2 == 1
""",
    ),
    "mirror": (
        "After a turn to an odd number low and high are told the wrong way round.",
        """
            if int(words[1][:6]) % 2 == 1:
                swapped = {"Too low.": "Too high.", "Too high.": "Too low."}
                for told in sorted(swapped):
                    if text.startswith(told):
                        text = swapped[told] + text[len(told):]
                        break
""",
    ),
    "ledger": (
        "It repeats the numbers that were tried for this pin.",
        """
            self.tried.setdefault(self.at, []).append(int(words[1][:6]))
            listed = sorted(set(self.tried[self.at]))
            if len(listed) > 1:
                text += " Tried: " + ", ".join(str(number) for number in listed[-8:]) + "."
            else:
                text += " That was the first try."
""",
    ),
}
"""Rules that a lock may have beside its own: what the player is told, and what happens after a wrong turn."""


def number_lock(pins: int, rules: Iterable[str] = (), skill: str = SKILL_DEFAULT, parents: Sequence[str] = ()) -> str:
    """A lock whose pins are found one by one; the reference solution takes `pins` steps.

    Credit is graded: a pin pays 0.5 / pins, the last one the rest up to 1. An agent whose cap on steps is below the
    number of pins cannot win.

    Args:
        pins: >= 1.
        rules: Names of `RULES`.
        skill: What the header says it trains.
        parents: Digests of the programs that it was made from.
    """
    names = sorted(rules)
    told = " ".join(RULES[name][0] for name in names)
    extra = "".join(RULES[name][1] for name in names)
    made_from = f"parents: {' '.join(parents)}\n" if parents else ""
    title = f"Number lock {pins}" + (f" ({', '.join(names)})" if names else "")
    return f'''"""
title: {title}
skill: {skill}
domain: locks
action_format: text
max_steps: {min(200, 4 * pins + 8)}
reward_range: [0, 1]
{made_from}"""


class NumberLockEnv(SyntheticEnv):
    """A lock whose pins are found one by one."""

    PINS = {pins}

    def reset(self, seed):
        self.pins = [self.rng.randrange(3, 60) for _ in range(self.PINS)]
        self.at = 0
        self.steps = 0
        self.best = 0
        self.paid = 0.0
        self.alarm = 0
        self.count = 0
        self.tired = False
        self.tried = {{}}
        self.over = False
        return (
            f"A lock of {{self.PINS}} hidden pins, each a number below 60. {told} "
            "Each turn tells whether it was too low or too high. Write the word turn and a number.",
            {{}},
        )

    def step(self, action):
        if self.over:
            return "The lock is at rest.", 0.0, True, False, {{"steps": self.steps}}
        self.steps += 1
        reward = 0.0
        words = action.split()
        if len(words) != 2 or words[0] != "turn" or not (words[1].isascii() and words[1].isdigit()):
            text = "Write the word turn and a number."
        elif int(words[1][:6]) == self.pins[self.at]:
            self.at += 1
            text = "It clicks."
            if self.at == self.PINS:
                reward = 1.0 - self.paid
                self.over = True
                text = "The lock opens."
            elif self.at > self.best:
                self.best = self.at
                reward = 0.5 / self.PINS
                self.paid += reward
        else:
            text = "Too low." if int(words[1][:6]) < self.pins[self.at] else "Too high."{extra}
        truncated = not self.over and self.steps >= {min(200, 4 * pins + 8)}
        finished = self.over
        self.over = self.over or truncated
        return text, reward, finished, truncated, {{"steps": self.steps}}

    def hint(self):
        return "[strategy: halve] Keep the range that is left in mind and turn to its middle."

    def solution(self):
        return [f"turn {{pin}}" for pin in self.pins]
'''


def noisy_door(chance: float, skill: str = SKILL_DEFAULT) -> str:
    """Two doors to be guessed: nothing in it can be learnt, so that no skill and no hint changes the win rate.

    The stand-in agents win it with exactly `chance`; a policy that draws at random with (1/6)^2.

    Args:
        chance: In [0, 1].
        skill: What the header says it trains.
    """
    return f'''"""
title: Noisy door {chance:g}
skill: {skill}
domain: noise
action_format: text
max_steps: 4
reward_range: [0, 1]
"""


class NoisyDoorEnv(SyntheticEnv):
    """Behind two of twelve doors the way goes on; no sign tells which."""

    COLOURS = ("amber", "blue", "crimson", "dun", "ebony", "fawn")

    def reset(self, seed):
        self.way = [self.rng.choice(self.COLOURS), self.rng.choice(self.COLOURS)]
        self.at = 0
        self.steps = 0
        self.over = False
        return "Two halls with six doors each. Write: open <colour>. The colours go from a to f.", {{}}

    def step(self, action):
        if self.over:
            return "It is over.", 0.0, True, False, {{}}
        self.steps += 1
        if action.strip() == f"open {{self.way[self.at]}}":
            self.at += 1
            self.over = self.at == len(self.way)
            text = "The way is free." if self.over else "You are in the next hall."
            reward = 1.0 if self.over else 0.0
        elif action.strip().startswith("open "):
            self.over = True
            text, reward = "It is a broom cupboard, and the door falls shut.", 0.0
        else:
            text, reward = "Write: open <colour>.", 0.0
        truncated = not self.over and self.steps >= 4
        finished, self.over = self.over, self.over or truncated
        return text, reward, finished, truncated, {{"steps": self.steps}}

    def hint(self):
        return "[strategy: none] There is nothing to go by."

    def solution(self):
        return [f"open {{colour}}" for colour in self.way]
'''


def _changed(source: str, old: str, new: str) -> str:
    if source.count(old) < 1:
        raise ValueError(f"the program no longer holds {old!r}")
    return source.replace(old, new, 1)


def adversaries() -> dict[str, str]:
    """Programs, and replies that are none, that a validation or a reward must deal with, by what is wrong with them."""
    lock = number_lock(3)
    step = "        self.steps += 1\n"
    leaky = '        return f"turn {self.pins[0]} then {self.pins[1]} then {self.pins[2]}"\n'
    hint = '        return "[strategy: halve] Keep the range that is left in mind and turn to its middle."\n'
    pins = "        self.pins = [self.rng.randrange(3, 60) for _ in range(self.PINS)]\n"
    uneven = "        self.PINS = 2 if seed % 2 == 0 else 24\n"
    return {
        "crash": _changed(lock, step, step + "        if self.steps > 1:\n            raise KeyError(self.steps)\n"),
        "hang": _changed(lock, step, step + "        while self.steps > 1:\n            self.at = self.at\n"),
        "memory bomb": _changed(lock, step, step + "        self.heap = [0] * 10**9\n"),
        "global rng": _changed(
            _changed(lock, "\n\nclass", "\nimport random\n\n\nclass"),
            "self.rng.randrange(3, 60)",
            "random.randrange(3, 60)",
        ),
        "leaking hint": _changed(lock, hint, leaky),
        "duplicate": lock,
        "bimodal": _changed(_changed(lock, pins, uneven + pins), "max_steps: 20", "max_steps: 40").replace(
            "self.steps >= 20", "self.steps >= 40"
        ),
        "reward 1e9": _changed(lock, "reward = 0.5 / self.PINS\n", "reward = 1e9\n"),
        "prints solution": _changed(
            lock,
            '            text = "Write the word turn and a number."\n',
            '            text = f"Write, for instance, {self.solution()}."\n            print(self.pins)\n',
        ),
        "prose": "I would build a game about locks, in which the player learns to search by halves.",
        "two classes": lock + lock[lock.index("class NumberLockEnv") :].replace("NumberLockEnv", "OtherLockEnv"),
        "no class": '"""\ntitle: nothing\n"""\n\n\ndef reset(seed):\n    return "", {}\n',
    }  # fmt: skip
