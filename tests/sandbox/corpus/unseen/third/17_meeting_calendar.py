# seed: 14
# actions: ["show ana", "show ben", "book review mon 09:00", "book review mon 11:00", "book planning mon 09:00", "book budget mon 09:00", "book budget mon 15:30", "cancel review", "book review fri 9:00", "book review wed 11:00", "done"]
# expect_total: 1.5 after 11 steps
"""Calendar assistant: book meetings so that everybody is free. Times are in half-hour slots between 9:00 and 17:00."""
from __future__ import annotations

import random
import re
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations

PEOPLE = ["ana", "ben", "cleo", "dev"]
DAYS = ["mon", "tue", "wed"]
DAY_START, DAY_END = 9 * 60, 17 * 60


def fmt(minutes: int) -> str:
    return str(timedelta(minutes=minutes))[:-3].zfill(5)


def parse_time(text: str) -> int:
    h, m = text.split(":")
    value = int(h) * 60 + int(m)
    if value % 30 or not DAY_START <= value <= DAY_END:
        raise ValueError(f"bad time {text}")
    return value


@dataclass(frozen=True, order=True)
class Slot:
    day: str
    start: int
    end: int

    def overlaps(self, other: Slot) -> bool:
        return self.day == other.day and self.start < other.end and other.start < self.end

    def __str__(self) -> str:
        return f"{self.day} {fmt(self.start)}-{fmt(self.end)}"


@dataclass
class Request:
    title: str
    who: tuple[str, ...]
    length: int
    slot: Slot | None = None


class Calendar:
    def __init__(self):
        self.busy: dict[str, list[Slot]] = {p: [] for p in PEOPLE}

    def conflicts(self, people, slot):
        return [p for p in people if any(slot.overlaps(b) for b in self.busy[p])]

    def add(self, people, slot):
        for p in people:
            self.busy[p].append(slot)
            self.busy[p].sort(key=lambda s: (DAYS.index(s.day), s.start))

    def remove(self, people, slot):
        for p in people:
            self.busy[p].remove(slot)


class Env:
    BOOK = re.compile(r"book (\w+) (mon|tue|wed) (\d{1,2}:\d\d)", re.I)

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.cal = Calendar()
        for person in PEOPLE:
            for day in DAYS:
                for _ in range(rng.randint(1, 3)):
                    start = rng.randrange(DAY_START, DAY_END - 60, 30)
                    slot = Slot(day, start, start + rng.choice([60, 90, 120]))
                    if not self.cal.conflicts([person], slot):
                        self.cal.add([person], slot)
        groups = list(combinations(PEOPLE, 2)) + list(combinations(PEOPLE, 3))
        titles = ["review", "planning", "budget"]
        self.requests = {t: Request(t, g, rng.choice([30, 60, 90])) for t, g in zip(titles, rng.sample(groups, 3))}
        self.turn = 0
        intro = "\n".join(f"- {r.title}: {', '.join(r.who)} for {r.length} minutes" for r in self.requests.values())
        return f"Book these meetings:\n{intro}\nCommands: show PERSON | book TITLE DAY HH:MM | cancel TITLE | done", {"open": 3}

    def step(self, action):
        self.turn += 1
        reward, terminated = -0.01, False
        command, _, rest = action.strip().lower().partition(" ")
        if command == "show" and rest in self.cal.busy:
            entries = self.cal.busy[rest]
            obs = f"{rest} is busy: " + "; ".join(map(str, entries))
        elif m := self.BOOK.fullmatch(action.strip()):
            obs, gained = self._book(m[1].lower(), m[2].lower(), m[3])
            reward += gained
        elif command == "cancel" and rest in self.requests and self.requests[rest].slot:
            req = self.requests[rest]
            self.cal.remove(req.who, req.slot)
            req.slot = None
            obs, reward = f"{rest} cancelled.", reward - 0.3
        elif command == "done":
            booked = sum(r.slot is not None for r in self.requests.values())
            obs = f"{booked} of {len(self.requests)} meetings booked."
            reward += 1.0 if booked == len(self.requests) else -0.5
            terminated = True
        else:
            obs, reward = "Unknown command.", -0.1
        left = sum(r.slot is None for r in self.requests.values())
        return obs, reward, terminated, not terminated and self.turn >= 20, {"open": left}

    def _book(self, title, day, clock):
        req = self.requests.get(title)
        if req is None or req.slot is not None:
            return f"There is no open request called {title}.", -0.1
        try:
            start = parse_time(clock)
        except ValueError as e:
            return str(e).capitalize() + ".", -0.1
        slot = Slot(day, start, start + req.length)
        if slot.end > DAY_END:
            return "The meeting would end after 17:00.", -0.1
        if clash := self.cal.conflicts(req.who, slot):
            return f"Conflict for {' and '.join(clash)} on {slot}.", -0.1
        self.cal.add(req.who, slot)
        req.slot = slot
        return f"Booked {title} on {slot}.", 0.3
