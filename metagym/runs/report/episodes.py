"""The episodes of a report, turn by turn: plain where there is room, packed where there is not.

A page that a stranger can open, search and print needs no script, so turns are plain HTML as long as they fit. A run
of some thousand episodes does not fit into 5 MB that way, though its text is so repetitive that it does when
compressed; and an episode that is not there is of less use than one that a script has to unpack. So what does not fit
is packed, and only then the page holds a script (`metagym.runs.report.page` says how it is kept harmless). Turns are
left out only where not even the packs fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from metagym import stats
from metagym.episodes import Episode
from metagym.runs.report.text import visible
from metagym.runs.report.turns import content, pack, plain
from metagym.runs.results import EVAL, Played, Results
from metagym.stats import Estimate

MAX_GROUPS = 2_000
"""Groups that are shown; of a longer run the latest."""

_PHASES = {
    "batch": "Batch of unseen training tasks",
    "replay": "Replay of the previous batch",
    "accept": "Trial of the new prompt on the previous batch",
    "eval": "Held-out evaluation",
}
PACK_EPISODES = 50
"""Episodes that are packed, and unpacked, together; or fewer, see `PACK_TEXT`."""
PACK_TEXT = 500_000
"""Characters of observations and replies that are packed together, at least of one episode."""
_PACK_MARKUP = 50  # bytes of the element that holds a pack


@dataclass
class Entry:
    """One episode in the page: with its turns, as one line, or left out.

    Attributes:
        played: The episode and its place.
        html: The part of the page; "" where it is left out.
        form: ``plain`` or ``packed`` where its turns are there, else ``line``.
    """

    played: Played
    html: str = ""
    form: str = "line"


@dataclass(frozen=True)
class Pack:
    """The turns of some episodes of a group (see `metagym.runs.report.turns.pack`); the number is its name."""

    number: int
    text: str


@dataclass
class Group:
    """The episodes of one phase of one turn."""

    arm: str
    turn: int
    phase: str
    label: str
    title: str
    success: Estimate
    entries: list[Entry] = field(default_factory=list)
    packs: list[Pack] = field(default_factory=list)

    @property
    def left_out(self) -> int:
        """Episodes without even a line."""
        return sum(not entry.html for entry in self.entries)

    @property
    def shortened(self) -> int:
        """Episodes without their turns."""
        return sum(entry.form == "line" for entry in self.entries)

    @property
    def packed(self) -> int:
        """Episodes whose turns a script unpacks."""
        return sum(entry.form == "packed" for entry in self.entries)


@dataclass
class _Chunk:
    """Episodes of one group that are plain, packed or left out together.

    Attributes:
        number: Its place, unique in its page.
        drawn: Their parts of the page as they would be in each form.
        cost: Bytes that each form takes beyond their lines.
        pack: Their pack, where it was made.
    """

    group: Group
    number: int
    entries: list[Entry] = field(default_factory=list)
    drawn: dict[str, list[str]] = field(default_factory=dict)
    cost: dict[str, int] = field(default_factory=dict)
    pack: Pack | None = None

    def take(self, form: str) -> None:
        """Puts one of the drawn forms into the page."""
        for entry, html in zip(self.entries, self.drawn[form], strict=True):
            entry.html, entry.form = Markup(html), form
        if form == "packed" and self.pack is not None:
            self.group.packs.append(self.pack)


def grouped(results: Results) -> list[Group]:
    """The episodes by arm, turn and phase, in the order in which they were played."""
    groups: dict[tuple[str, int, str], Group] = {}
    for played in results.played:
        place = (played.arm, played.turn, played.phase)
        if place not in groups:
            title = _PHASES.get(played.phase, visible(played.phase, 60))
            groups[place] = Group(*place, visible(played.arm, 80), title, Estimate(None, None, None, 0))
        groups[place].entries.append(Entry(played))
    for group in groups.values():
        group.success = stats.success_estimate(entry.played.episode for entry in group.entries)
    order = {arm: number for number, arm in enumerate(results.arms)}
    phases = list(_PHASES)
    return sorted(
        groups.values(),
        key=lambda group: (
            order[group.arm],
            group.turn,
            phases.index(group.phase) if group.phase in phases else len(phases),
        ),
    )


def fill(groups: Sequence[Group], draw: Callable[[dict[str, Any]], str], room: int, script: int) -> None:
    """Draws episodes until the room is used up: first a line for each, then their turns.

    All turns are plain if that fits. Else they are packed, and then plain again as far as the room goes. The oldest
    evaluations are the first to be packed and, where not even the packs fit, the first to stay lines.

    Args:
        groups: See `grouped`; their entries and packs are filled in.
        draw: Renders one episode from its `view`; what it returns is trusted to be escaped.
        room: Bytes (UTF-8) that the episodes may take.
        script: Bytes that packs cost once, for the script that unpacks them.
    """
    # What a report keeps longest: batches before evaluations (they are what the reflector read), late turns first.
    ordered = sorted(groups, key=lambda group: (group.phase == EVAL, -group.turn))
    for entry in (entry for group in ordered for entry in group.entries):
        html = draw(view(entry.played, "line"))
        size = len(html.encode())
        if size > room:
            return
        entry.html = Markup(html)
        room -= size
    chunks = list(_chunks(ordered))
    if _draw_while(chunks, lambda chunk: _draw_plain(chunk, draw), "plain", room) == len(chunks):
        for chunk in chunks:
            chunk.take("plain")
        return
    room -= script
    there = chunks[: _draw_while(chunks, lambda chunk: _draw_packed(chunk, draw), "packed", room)]
    room -= sum(chunk.cost["packed"] for chunk in there)
    while there and "plain" in there[0].cost and (more := there[0].cost["plain"] - there[0].cost["packed"]) <= room:
        there.pop(0).take("plain")
        room -= more
    for chunk in there:
        chunk.take("packed")


def _chunks(groups: Sequence[Group]) -> Iterator[_Chunk]:
    """The episodes of each group in their order, as many at once as the bounds of a pack allow."""
    number = 0
    for group in groups:
        chunk, text = _Chunk(group, number := number + 1), 0
        for entry in group.entries:
            more = sum(len(turn.observation) + len(turn.reply or "") for turn in entry.played.episode.turns)
            if chunk.entries and (len(chunk.entries) == PACK_EPISODES or text + more > PACK_TEXT):
                yield chunk
                chunk, text = _Chunk(group, number := number + 1), 0
            chunk.entries.append(entry)
            text += more
        yield chunk


def _draw_while(chunks: Sequence[_Chunk], draw: Callable[[_Chunk], None], form: str, room: int) -> int:
    """Draws chunks in one form until the room is used up; returns how many fit."""
    for number, chunk in enumerate(chunks):
        draw(chunk)
        room -= chunk.cost[form]
        if room < 0:
            return number
    return len(chunks)


def _draw_plain(chunk: _Chunk, draw: Callable[[dict[str, Any]], str]) -> None:
    shown = [content(entry.played.episode) for entry in chunk.entries]
    chunk.drawn["plain"] = [
        draw(view(entry.played, "plain") | item | {"turns": Markup(plain(item["turns"]))})
        for entry, item in zip(chunk.entries, shown, strict=True)
    ]
    chunk.cost["plain"] = _beyond_lines(chunk, "plain")


def _draw_packed(chunk: _Chunk, draw: Callable[[dict[str, Any]], str]) -> None:
    chunk.pack = Pack(chunk.number, pack([content(entry.played.episode) for entry in chunk.entries]))
    chunk.drawn["packed"] = [
        draw(view(entry.played, "packed") | {"pack": chunk.number, "place": place})
        for place, entry in enumerate(chunk.entries)
    ]
    chunk.cost["packed"] = _beyond_lines(chunk, "packed") + len(chunk.pack.text) + _PACK_MARKUP


def _beyond_lines(chunk: _Chunk, form: str) -> int:
    lines = sum(len(entry.html.encode()) for entry in chunk.entries)
    return sum(len(html.encode()) for html in chunk.drawn[form]) - lines


def view(played: Played, form: str) -> dict[str, Any]:
    """What the template needs of the line of an episode; all text is bounded and made visible."""
    episode = played.episode
    task = episode.task
    return {
        "id": visible(task.id, 160),
        "type": visible(task.type, 80),
        "seed": played.seed if played.arm else None,
        "result": _result(episode),
        "steps": episode.steps,
        "ret": f"{episode.ret:.2f}" if episode.scored else "-",
        "status": episode.status.value,
        "cause": visible(episode.cause, 120 if form == "line" else 300),
        "form": form,
    }


def _result(episode: Episode) -> str:
    if not episode.scored:
        return "unscored"
    return {True: "won", False: "lost", None: "unknown"}[episode.success]
