"""What follows from the records of a memory: which programs are in use, and which go out of use next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from metagym.checks import number, settle, shown, whole
from metagym.errors import BadInput
from metagym.spade.records import EnvRecord, EnvView, Plays

Eviction = Literal["fifo", "quality_diversity"]


@dataclass(frozen=True)
class MemorySettings:
    """What decides how a memory behaves; it stands in its first record.

    Attributes:
        capacity: Programs in use at a time, >= 1; SPADE keeps 200.
        eviction: ``fifo`` drops the oldest. ``quality_diversity`` drops from the skill with the most programs the one
            of the lowest regret (unmeasured ones first, then the oldest), never the one that just entered.
        forgetting: Weight of a measurement that is one round older, in (0, 1].
    """

    capacity: int = 200
    eviction: Eviction = "fifo"
    forgetting: float = 0.9

    def __post_init__(self) -> None:
        """Checks the ranges."""
        settle(self, "capacity", whole, 1)
        settle(self, "forgetting", number, 0, 1, above=True)
        if self.eviction not in get_args(Eviction):
            raise BadInput(f"eviction is one of {', '.join(get_args(Eviction))}, got {shown(self.eviction)}")


class State:
    """The programs after a sequence of records."""

    def __init__(self, settings: MemorySettings) -> None:
        self._settings = settings
        self._views: dict[str, EnvView] = {}
        self._count = 0
        self.live = 0

    def copy(self) -> State:
        """Another state with the same programs."""
        twin = State(self._settings)
        twin._views, twin._count, twin.live = dict(self._views), self._count, self.live
        return twin

    def __contains__(self, digest: object) -> bool:
        """Whether the program ever entered."""
        return digest in self._views

    def is_live(self, digest: str) -> bool:
        """Whether the program is in use."""
        return digest in self._views and self._views[digest].live

    def entered(self, digest: str) -> int:
        """The round in which the program entered, the last time."""
        return self._views[digest].record.round

    def views(self) -> Iterator[EnvView]:
        """All programs in the order of insertion."""
        return iter(sorted(self._views.values(), key=lambda view: view.order))

    def apply(self, event: Mapping[str, Any]) -> None:
        """Takes in one record: a program enters, is measured, or goes out of use."""
        if event["kind"] == "add":
            self.add(event["record"], event["plays"])
            return
        view = self._views[event["digest"]]
        if event["kind"] == "plays":
            self._views[view.digest] = replace(view, later=(*view.later, event["plays"]))
        elif view.live:
            self._views[view.digest] = replace(view, live=False)
            self.live -= 1

    def add(self, record: EnvRecord, plays: Plays | None) -> None:
        """A program enters, perhaps again: what was measured of it earlier is no play after its insertion."""
        self.live += not self.is_live(record.digest)
        forgetting = self._settings.forgetting
        self._views[record.digest] = EnvView(record, plays, (), self._count, True, forgetting)
        self._count += 1

    def overflow(self, newest: str) -> list[str]:
        """The programs that go out of use, in order, until the rest fits."""
        out: list[str] = []
        live = [view for view in self.views() if view.live]
        while len(live) > self._settings.capacity:
            chosen = live[0] if self._settings.eviction == "fifo" else _worst(live, newest)
            live.remove(chosen)
            out.append(chosen.digest)
        return out


def _worst(live: Sequence[EnvView], newest: str) -> EnvView:
    """Of the skill with the most programs the one of the lowest regret, the newest excepted."""
    candidates = [view for view in live if view.digest != newest]
    counts = Counter(view.skill for view in live)
    most = max(counts[view.skill] for view in candidates)
    cell = [view for view in candidates if counts[view.skill] == most]
    return min(cell, key=lambda view: (view.regret is not None, view.regret or 0.0, view.order))
