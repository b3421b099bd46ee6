# seed: 44
# actions: ["Hello, how can I help you today?", "Sorry to hear that. Could you tell me your order number?", "lookup ORD-7", "lookup ORD-1042", "That is your fault.", "I apologise for the delay. Would you prefer a refund or a replacement?", "refund", "replace", "Is there anything else I can help with?", "close"]
# expect_total: 0.54 after 10 steps
"""Customer support dialogue with a simulated, moody customer."""
from __future__ import annotations

import enum
import random
import re
from typing import Protocol, runtime_checkable


class Mood(enum.IntEnum):
    FURIOUS = 0
    ANNOYED = 1
    NEUTRAL = 2
    HAPPY = 3

    def shift(self, by: int) -> "Mood":
        return Mood(max(Mood.FURIOUS, min(Mood.HAPPY, self + by)))


class Slot(enum.Flag):
    NONE = 0
    GREETED = enum.auto()
    ORDER = enum.auto()
    EMPATHY = enum.auto()
    PREFERENCE = enum.auto()
    RESOLVED = enum.auto()


@runtime_checkable
class Persona(Protocol):
    name: str

    def react(self, text: str) -> int: ...


class Impatient:
    name = "Morgan"

    def react(self, text: str) -> int:
        return -1 if len(text.split()) > 25 else 0


class Sensitive:
    name = "Robin"

    def react(self, text: str) -> int:
        return 1 if re.search(r"\b(sorry|apologi[sz]e)\b", text, re.I) else 0


class SupportDialogueEnv:
    PERSONAS: list[type] = [Impatient, Sensitive]
    RUDE = re.compile(r"\b(your fault|stupid|calm down)\b", re.IGNORECASE)

    def __init__(self) -> None:
        self._tone = {Mood.FURIOUS: "!!", Mood.ANNOYED: "!", Mood.NEUTRAL: ".", Mood.HAPPY: " :)"}

    def reset(self, seed: int | None = None):
        self.rng = random.Random(seed)
        self.persona: Persona = self.rng.choice(self.PERSONAS)()
        assert isinstance(self.persona, Persona)
        self.order = f"ORD-{self.rng.randint(1000, 1099)}"
        self.wants = self.rng.choice(["refund", "replace"])
        self.mood = Mood(self.rng.choice([0, 1, 1, 2]))
        self.slots = Slot.NONE
        self.transcript: list[tuple[str, str]] = []
        return self._say("My package never arrived"), {"customer": self.persona.name}

    def _say(self, text: str) -> str:
        line = f"{self.persona.name}: {text}{self._tone[self.mood]}"
        self.transcript.append((self.persona.name, line))
        return line

    def _gain(self, slot: Slot, amount: float) -> float:
        if slot in self.slots:
            return 0.0
        self.slots |= slot
        return amount

    def step(self, action: str):
        self.transcript.append(("agent", action))
        text, low = action.strip(), action.lower().strip()
        reward = -0.02
        self.mood = self.mood.shift(self.persona.react(text))
        done = len(self.transcript) > 30
        if self.RUDE.search(text):
            self.mood = self.mood.shift(-1)
            reply, reward = self._say("How dare you"), -0.5
        elif low.startswith("lookup"):
            found = text.split()[-1] == self.order
            reward += self._gain(Slot.ORDER, 0.3) if found else -0.1
            reply = f"[system] order {'found: delayed at depot' if found else 'not found'}"
        elif low in ("refund", "replace"):
            if Slot.PREFERENCE in self.slots and low == self.wants:
                reward += self._gain(Slot.RESOLVED, 1.0)
                self.mood = self.mood.shift(2)
                reply = self._say("Thank you")
            else:
                self.mood = self.mood.shift(-1)
                reply = self._say("That is not what I asked for")
                reward -= 0.4
        elif low == "close":
            solved = Slot.RESOLVED in self.slots
            return self._say("Bye"), 0.25 * self.mood if solved else -1.0, True, {"mood": self.mood.name, "turns": len(self.transcript)}
        elif "order" in low:
            reply = self._say(f"It is {self.order}")
        elif "refund or" in low or "prefer" in low:
            reward += self._gain(Slot.PREFERENCE, 0.2)
            reply = self._say(f"I want a {'refund' if self.wants == 'refund' else 'replacement'}")
        elif re.match(r"(hi|hello|good (morning|day))\b", low):
            reward += self._gain(Slot.GREETED, 0.1)
            reply = self._say("Hello. Please help me")
        else:
            reply = self._say(self.rng.choice(["Hm", "What do you mean", "And now"]))
        return reply, reward, done, {"mood": self.mood.name}
