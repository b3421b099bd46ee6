"""From a batch of episodes to the text that the reflector reads (the meta-environment's observation)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metagym.checks import flag, mapping, settle, whole
from metagym.episodes import Episode, Repair, Turn, mean_return
from metagym.errors import BadInput
from metagym.playing.actor import thought_of

OPEN, CLOSE = "<<<", ">>>"


@dataclass(frozen=True)
class View:
    """What of an episode the reflector is shown; part of every run's record.

    Attributes:
        thoughts: Show what the actor wrote before its action.
        actions: Show the legal actions of each turn (they must have been kept: the meta-environment sees to it).
        episodes: At most this many episodes; None shows the whole batch.
        order: ``task`` keeps the batch's order, ``failed-first`` puts failures before successes.
        max_turns: Longer episodes are shown by their first and last turns; the cut is marked. At least 2.
    """

    thoughts: bool = False
    actions: bool = False
    episodes: int | None = None
    order: str = "task"
    max_turns: int = 100

    def __post_init__(self) -> None:
        """Checks the ranges."""
        settle(self, "thoughts", flag)
        settle(self, "actions", flag)
        settle(self, "episodes", whole, 1, none=True)
        settle(self, "max_turns", whole, 2)
        if self.order not in ("task", "failed-first"):
            raise BadInput(f"order is 'task' or 'failed-first', got {self.order!r}")


def view_from(options: Mapping[str, Any] | None) -> View:
    """A view from its fields by name.

    Raises:
        BadInput: No such field, or a value out of range.
    """
    known = View.__dataclass_fields__
    wanted = mapping("view", options)
    for name in wanted:
        if name not in known:
            raise BadInput(f"a view has no {name!r}; it has {', '.join(known)}")
    return View(**wanted)


def verdict(episode: Episode) -> str:
    """One word for how an episode went."""
    if not episode.scored:
        return "not scored"
    if episode.success is None:
        return "finished"
    return "solved" if episode.success else "failed"


def _turn(turn: Turn, view: View, first: bool) -> list[str]:
    lines = [] if first else [turn.observation]
    if view.actions and turn.admissible is not None:
        lines.append("Legal actions: " + "; ".join(turn.admissible))
    if view.thoughts and (thought := thought_of(turn.reply)):
        lines.append("Thought: " + thought)
    if turn.repair is Repair.ABSENT:
        lines.append(f"> (no action: {turn.absence or 'none found in the reply'})")
    else:
        lines.append("> " + turn.action)
    return lines


def render_episode(episode: Episode, view: View) -> str:
    """One episode as text: first observation, then actions and observations in turn."""
    turns = episode.turns
    lines = [turns[0].observation if turns else episode.last_observation]
    shown = range(len(turns))
    head = (view.max_turns + 1) // 2
    tail = len(turns) - (view.max_turns - head)
    for number in shown:
        if len(turns) > view.max_turns and head <= number < tail:
            if number == head:
                lines.append(f"[... {tail - head} turns not shown ...]")
            continue
        lines += _turn(turns[number], view, number == 0)
    if turns:
        lines.append(episode.last_observation)
    if episode.cause and not episode.scored:
        lines.append(f"[ended: {episode.cause}]")
    return "\n".join(lines)


def render_batch(system_prompt: str, episodes: Sequence[Episode], view: View) -> str:
    """The meta-observation: the current prompt, the result of the batch, and its episodes."""
    chosen = list(episodes)
    if view.order == "failed-first":
        chosen.sort(key=lambda e: bool(e.success))
    if view.episodes is not None:
        chosen = chosen[: view.episodes]
    scored = [e for e in episodes if e.scored]
    solved = sum(bool(e.success) for e in scored)
    mean = mean_return(list(episodes))
    shown = "-" if mean is None else format(mean, ".3g")
    head = f"Batch of {len(episodes)} episodes: {solved} solved, mean return {shown}"
    if len(scored) < len(episodes):
        head += f", {len(episodes) - len(scored)} not scored"
    parts = ["\n".join(["Current system prompt:", OPEN, system_prompt, CLOSE]), head + "."]
    for number, episode in enumerate(chosen, 1):
        kind = f"{episode.task.type}, " if episode.task.type else ""
        title = f"=== Episode {number}: {kind}{verdict(episode)}, {episode.steps} steps ==="
        parts.append(title + "\n" + render_episode(episode, view))
    return "\n\n".join(parts)
