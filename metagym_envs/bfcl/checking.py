"""The verdict on a conversation: the package's checker, and what it finds turn by turn.

The official verdict is all or nothing. It says yes where at every turn that has an answer the state of all back ends
is that of the answer, and what the answer's calls returned is among what the actor's calls have returned so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from metagym_envs.bfcl import package
from metagym_envs.bfcl.calls import Call
from metagym_envs.bfcl.data import Entry
from metagym_envs.bfcl.world import World

Steps = Sequence[Sequence[Call]]
"""What was called within one turn of the user: replies, each with its calls."""

FORCED = "multi_turn:force_terminated"
"""The package's name for a conversation that was cut: the actor went on calling."""

RAISED = "checker_raised"
"""Ours, where the package's checker fails: there, one such conversation ends the whole evaluation."""


@dataclass(frozen=True)
class Verdict:
    """What a conversation is worth.

    Attributes:
        valid: The official verdict.
        error: The package's name for what is wrong; "" where nothing is.
        message: Its sentence.
        turns: For each turn whether it holds by itself (unofficial): a turn with an answer by the checker's two tests,
            a turn without one if nothing was called.
        judged: For each turn whether it has an answer.
    """

    valid: bool
    error: str
    message: str
    turns: tuple[bool, ...]
    judged: tuple[bool, ...]

    @property
    def turn_validity(self) -> float:
        """Share of the turns with an answer that hold by themselves (unofficial)."""
        return _share(self.turns, self.judged)

    @property
    def abstention(self) -> float | None:
        """Share of the turns without an answer in which nothing was called (unofficial); None where there is none."""
        return None if all(self.judged) else _share(self.turns, tuple(not one for one in self.judged))


def judge(entry: Entry, played: Sequence[Steps]) -> Verdict:
    """Judges a conversation.

    Args:
        entry: Which.
        played: The calls turn by turn. With fewer turns than the entry has, the conversation was cut.
    """
    turns = tuple(_turns(entry, played))
    judged = tuple(bool(calls) for calls in entry.truth)
    if len(played) < len(entry.truth):
        message = f"the conversation was cut at turn {len(played)} of {len(entry.truth)}"
        return Verdict(False, FORCED, message, turns, judged)
    worlds: dict[str, World] = {}  # the checker asks for two: the actor's, and the answer's

    def execute(func_call_list: Sequence[Call], *, model_name: str, **_: Any) -> tuple[list[str], dict[str, Any]]:
        world = worlds.get(model_name)
        if world is None:
            world = worlds[model_name] = World(entry)
        return [world.call(call) for call in func_call_list], world.instances

    told = {"id": entry.id, "initial_config": entry.config, "involved_classes": entry.classes}
    try:
        found = package.checker(execute)(played, entry.truth, told, entry.category, "model")
    except (AssertionError, AttributeError, RecursionError) as error:  # states that cannot be compared
        return Verdict(False, RAISED, f"{type(error).__name__}: {error}", turns, judged)
    return Verdict(bool(found["valid"]), found.get("error_type", ""), found.get("error_message", ""), turns, judged)


def _turns(entry: Entry, played: Sequence[Steps]) -> Iterator[bool]:
    """The checker's two tests at every turn, where it stops at the first that fails; turns not reached do not hold."""
    same_state, same_results = map(package.part_of_checker, ("state_checker", "response_checker"))
    actor, answer = World(entry), World(entry)
    heard: list[str] = []
    for turn, truth in enumerate(entry.truth):
        steps = played[turn] if turn < len(played) else None
        if steps is None:
            yield False
            continue
        heard += [actor.call(call) for calls in steps for call in calls]
        wanted = [answer.call(call) for call in truth]
        try:
            alike = same_state(actor.instances, answer.instances)["valid"]
        except (AssertionError, AttributeError, RecursionError):
            alike = False
        yield bool(steps and alike and same_results(heard, wanted, turn)["valid"]) if truth else not steps


def _share(turns: Sequence[bool], of: Sequence[bool]) -> float:
    counted = [holds for holds, counts in zip(turns, of, strict=True) if counts]
    return sum(counted) / len(counted)
