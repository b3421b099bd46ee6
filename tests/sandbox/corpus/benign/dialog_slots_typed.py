# seed: 27
# actions: ["book a table for 4", "tomorrow", "at 19:30", "change size 6", "at 25:00", "what do you know?", "confirm"]
# expect_total: 1.4 after 7 steps
#!/usr/bin/env python3
# -*- coding: utf-8 -*-
"""Slot-filling dialogue with heavy typing: Generic, overload, Annotated, TypeVar, ParamSpec, Self."""
from __future__ import annotations

import random
import re
import typing as t
from collections.abc import Callable, Iterator, Mapping
from datetime import date, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Generic, ParamSpec, Self, TypeAlias, TypeVar, cast, overload

if TYPE_CHECKING:
    from typing import Never

V = TypeVar("V", int, date, time)
D = TypeVar("D")
P = ParamSpec("P")
Reward: TypeAlias = float
Parser: TypeAlias = Callable[[str], "V | None"]
StepReturn = tuple[str, Reward, bool, dict[str, t.Any]]

TODAY: Final = date(2025, 2, 27)


class Phase(StrEnum):
    FILLING = "filling"
    CONFIRMED = "confirmed"


class Slot(Generic[V]):
    """A typed slot."""

    kinds: ClassVar[list[str]] = []

    def __init__(self, name: str, parser: Parser[V]) -> None:
        self.name = name
        self.value: V | None = None
        self._parser = parser
        self.kinds.append(name)

    def fill(self, text: str) -> bool:
        value = self._parser(text)
        if value is None:
            return False
        self.value = value
        return True

    def __bool__(self) -> bool:
        return self.value is not None

    @overload
    def get(self) -> V | None: ...
    @overload
    def get(self, default: D) -> V | D: ...
    def get(self, default=None):
        return default if self.value is None else self.value


def never_raises(fn: Callable[P, D]) -> Callable[P, D | None]:
    def inner(*args: P.args, **kwargs: P.kwargs) -> D | None:
        try:
            return fn(*args, **kwargs)
        except (ValueError, AttributeError, TypeError):
            return None

    inner.__name__ = fn.__name__
    inner.__doc__ = fn.__doc__
    return inner


@never_raises
def parse_size(text: str) -> Annotated[int, "1..12"]:
    n = int(re.search(r"(?:for|size)\s+(\d+)", text).group(1))
    if not 1 <= n <= 12:
        raise ValueError(n)
    return n


@never_raises
def parse_day(text: str) -> date:
    offsets = {"today": 0, "tomorrow": 1, "weekend": (5 - TODAY.weekday()) % 7}
    word = next(w for w in re.findall(r"\w+", text.lower()) + [None] if w in offsets or w is None)
    return TODAY + timedelta(days=cast(int, offsets.get(word)))


@never_raises
def parse_time(text: str) -> time:
    hh, mm = re.search(r"(\d{1,2}):(\d{2})", text).groups()
    return time(int(hh), int(mm))


class Dialogue:
    def __init__(self) -> None:
        self.slots: dict[str, Slot] = {}
        self.phase = Phase.FILLING

    def with_slot(self, slot: Slot) -> Self:
        self.slots[slot.name] = slot
        return self

    def missing(self) -> Iterator[str]:
        yield from (n for n, s in self.slots.items() if not s)

    def as_dict(self) -> Mapping[str, str]:
        return {n: str(s.get("?")) for n, s in self.slots.items()}


class Env:
    dialogue: Dialogue
    turns: int = 0

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, t.Any]]:
        Slot.kinds.clear()
        self.greeting = random.Random(seed).choice(["Hi!", "Hello.", "Good day."])
        self.dialogue = (
            Dialogue()
            .with_slot(Slot[int]("size", parse_size))
            .with_slot(Slot[date]("day", parse_day))
            .with_slot(Slot[time]("time", parse_time))
        )
        self.turns = 0
        return self.greeting, {"kinds": list(Slot.kinds), "parsers": [parse_size.__name__, parse_day.__name__]}

    def step(self, action: str) -> StepReturn:
        self.turns += 1
        d = self.dialogue
        if action.strip() == "confirm":
            gaps = list(d.missing())
            if gaps:
                return f"I still need: {', '.join(gaps)}", -0.2, False, {}
            d.phase = Phase.CONFIRMED
            day = d.slots["day"].get(TODAY)
            return f"Booked for {day:%a %d %B}, {d.slots['time'].get():%H.%M}.", 1 - 0.05 * self.turns, True, {"phase": d.phase}
        had = {n for n, s in d.slots.items() if s}
        filled = [n for n, s in d.slots.items() if s.fill(action)]
        new = [n for n in filled if n not in had]
        reward: Reward = 0.3 * len(new) + 0.05 * (len(filled) - len(new)) if filled else -0.1
        return f"{self.greeting} {dict(d.as_dict())}", reward, False, {"filled": filled, "phase": d.phase.value}
