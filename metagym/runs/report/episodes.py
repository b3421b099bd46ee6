"""The episodes of a report, turn by turn, as many as its size allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from metagym import stats
from metagym.episodes import Episode, Repair
from metagym.runs.report.text import visible
from metagym.runs.results import EVAL, Played, Results
from metagym.stats import Estimate

MAX_TEXT = 4_000
"""Characters of one observation or reply that are shown."""
MAX_TURNS = 300
"""Turns of one episode that are shown."""
MAX_GROUPS = 2_000
"""Groups that are shown; of a longer run the latest."""

_PHASES = {
    "batch": "Batch of unseen training tasks",
    "replay": "Replay of the previous batch",
    "accept": "Trial of the new prompt on the previous batch",
    "eval": "Held-out evaluation",
}
_REPAIRS = {
    Repair.REPAIRED: "repaired",
    Repair.INVALID: "unknown to the game",
    Repair.ABSENT: "no command in the reply",
}


@dataclass
class Entry:
    """One episode in the page: in full, as one line, or left out.

    Attributes:
        played: The episode and its place.
        html: The part of the page; "" where it is left out.
        full: Whether its turns are shown.
    """

    played: Played
    html: str = ""
    full: bool = False


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

    @property
    def left_out(self) -> int:
        """Episodes without even a line."""
        return sum(not entry.html for entry in self.entries)

    @property
    def shortened(self) -> int:
        """Episodes without their turns."""
        return sum(not entry.full for entry in self.entries)


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


def fill(groups: Sequence[Group], draw: Callable[[dict[str, Any]], str], room: int) -> None:
    """Draws episodes until the room is used up: first a line for each, then turns, the oldest evaluations last.

    Args:
        groups: See `grouped`; their entries are filled in.
        draw: Renders one episode from its `view`; what it returns is trusted to be escaped.
        room: Bytes (UTF-8) that the episodes may take.
    """
    wanted = [entry for group in groups for entry in group.entries]
    # What a report keeps longest: batches before evaluations (they are what the reflector read), late turns first.
    wanted.sort(key=lambda entry: (entry.played.phase == EVAL, -entry.played.turn))
    for entry in wanted:
        html = draw(view(entry.played, full=False))
        size = len(html.encode())
        if size > room:
            return
        entry.html = Markup(html)
        room -= size
    for entry in wanted:
        if len(entry.played.episode.turns) * 40 > room:
            return  # not worth the drawing
        html = draw(view(entry.played, full=True))
        more = len(html.encode()) - len(entry.html.encode())
        if more > room:
            return
        entry.html, entry.full = Markup(html), True
        room -= more


def view(played: Played, full: bool) -> dict[str, Any]:
    """What the template needs of one episode; all text is bounded and made visible."""
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
        "cause": visible(episode.cause, 300 if full else 120),
        "backend": visible(episode.backend, 40),
        "full": full,
        "turns": [_turn(turn) for turn in episode.turns[:MAX_TURNS]] if full else [],
        "more_turns": max(0, episode.steps - MAX_TURNS),
        "last": visible(episode.last_observation, MAX_TEXT) if full else "",
        "tokens": episode.usage.prompt_tokens + episode.usage.completion_tokens,
    }


def _result(episode: Episode) -> str:
    if not episode.scored:
        return "unscored"
    return {True: "won", False: "lost", None: "unknown"}[episode.success]


def _turn(turn: Any) -> dict[str, Any]:
    reply = turn.reply
    if reply is not None and reply.strip() == turn.action.strip():
        reply = None  # the action says it all
    return {
        "observation": visible(turn.observation, MAX_TEXT),
        "reply": None if reply is None else visible(reply, MAX_TEXT),
        "absence": None if turn.absence is None else visible(turn.absence, 40),
        "action": visible(turn.action, 600),
        "reward": f"{turn.reward:+.2f}" if turn.reward else "",
        "repair": _REPAIRS.get(turn.repair, ""),
        "bad": turn.repair in (Repair.INVALID, Repair.ABSENT),
        "end": "terminated" if turn.terminated else "truncated" if turn.truncated else "",
    }
