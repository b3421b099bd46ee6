"""What a conversation is worth: the state that it ends in, and how much of the way it went.

Both follow the benchmark's own scorer, but for two things: a gold class is compared under the name that it means (the
official scorer silently leaves out a class whose name it does not find), and a milestone counts also by what it means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metagym_envs.acebench.entries import Entry
from metagym_envs.bfcl.calls import Call, read_calls

SAVED: Mapping[str, tuple[str, ...]] = {
    "BaseApi": ("wifi", "logged_in"),
    "MessageApi": ("inbox",),
    "ReminderApi": ("reminder_list",),
    "FoodPlatform": ("users", "logged_in_users", "orders"),
    "Finance": (
        *(
            "user_accounts",
            "is_logged_in",
            "deposit_history",
            "withdrawal_history",
            "loan_history",
            "orders",
            "holdings",
        ),
    ),
    "Travel": ("users", "reservations"),
}
"""The attributes that count, by class (the benchmark's list); of other classes those that the gold state names."""


def state_faults(
    entry: Entry, state: Mapping[str, Mapping[str, Any]], skip: Mapping[str, str] | None = None
) -> list[str]:
    """Where a final state differs from the gold one; [] where it is reached.

    Args:
        entry: The task.
        state: By class, its attributes.
        skip: Classes that the official scorer leaves out, by their gold name; it leaves out unknown ones too. None: see
            everything.
    """
    faults = (
        []
        if skip is not None
        else [f"the gold state names {name}, which is no class of the task" for name in entry.unknown]
    )
    for name, gold in entry.gold.items():
        if name in (skip or {}).values():
            continue
        if name not in state:
            faults.append(f"{name} is not there")
            continue
        for attribute in SAVED.get(name, tuple(gold)):
            if attribute not in state[name]:
                continue  # an attribute that the back end never set is not compared officially either
            if attribute not in gold:
                faults.append(f"{name}.{attribute} is not in the gold state")
            else:
                faults += _differs(f"{name}.{attribute}", state[name][attribute], gold[attribute])
    return faults


def official(entry: Entry, state: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the official scorer takes a final state for the gold one.

    It wants as many gold classes as there are back ends, and silently leaves out those whose names it does not find.
    """
    known = len(entry.gold) + len(entry.unknown) == len(entry.classes)
    return known and not state_faults(entry, state, skip=entry.renamed)


def _differs(where: str, found: Any, gold: Any) -> list[str]:
    """As officially compared: of a dict all that the gold one holds, of everything else equality."""
    if not isinstance(gold, dict):
        return [] if found == gold else [f"{where} is another"]
    if not isinstance(found, dict):
        return [f"{where} is no dict"]
    return [f"{where}.{key} is another" for key, value in gold.items() if key not in found or found[key] != value]


def process(entry: Entry, sent: Sequence[str], *, as_text: bool = False) -> float | None:
    """The share of milestones that were sent in their order, of the best way; None where the data name none.

    As officially counted, a milestone that is not found leaves nothing for those after it.

    Args:
        entry: The task.
        sent: What the agent sent to be executed, in order.
        as_text: Whether a milestone counts as equal text alone, as officially, and not also by what its call means.
    """
    shares = [_share(way, sent, as_text) for way in entry.milestones if way]
    return max(shares) if shares else None


def _share(way: Sequence[str], sent: Sequence[str], as_text: bool) -> float:
    said = [(text.strip(), None if as_text else _meaning(text)) for text in sent]
    at = hits = 0
    for stone in way:
        plain, meaning = stone.strip(), None if as_text else _meaning(stone)
        while at < len(said):
            text, means = said[at]
            at += 1
            if text == plain or (meaning is not None and means == meaning):
                hits += 1
                break
    return hits / len(way)


def _meaning(text: str) -> tuple[Call, ...] | None:
    """The calls of a text; None where it holds none that can be run. Quotes and blanks are no part of a meaning."""
    calls = read_calls(text)
    return calls if calls and not any(call.fault for call in calls) else None
