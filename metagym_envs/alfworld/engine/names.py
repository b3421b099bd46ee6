"""From ids such as ``apple_bar__plus_01_dot_20`` to the names that are shown, such as ``apple 2``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metagym.errors import EngineUnsupported

_MARKS = ("_minus_", "_plus_", "_dot_", "_comma_")


def shown_names(ids: Iterable[str]) -> dict[str, str]:
    """Names every id of a game as the engine shows it.

    Ids with the same head word (what stands before the first ``_bar_``) are numbered in sorted order from their
    count down to 1. An id that mentions "basin" anywhere gets "basin" behind its head. An id without ``_bar_``
    has no number, and a blank stays behind it.

    Args:
        ids: Every id that appears in a fact, in lower case.

    Raises:
        EngineUnsupported: An id has a form whose name is not known for certain.
    """
    groups: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for name in sorted(set(ids)):
        head, bar, _ = name.partition("_bar_")
        if not bar:
            names[name] = name + " "
            _refuse_unless_plain(name, name)
            continue
        if "basin" in name:
            head += "basin"
        members = groups.get(head)
        if members is None:
            groups[head] = [name]
            _refuse_unless_plain(head, name)
        else:
            members.append(name)
    for head, members in groups.items():
        count = len(members)
        for place, name in enumerate(members):
            names[name] = f"{head} {count - place}"
    return names


def _refuse_unless_plain(head: str, name: str) -> None:
    """The engine has names of its own for these, or fails."""
    if "|" in head or head in ("i", "p") or any(mark in head for mark in _MARKS):
        raise EngineUnsupported(f"the native engine cannot name the id {name!r}: play this game with textworld")


def listing(items: Sequence[str]) -> str:
    """Joins items: "x", "x, and y", "x, y, and z"; "nothing" where there is none."""
    if len(items) > 1:
        return ", ".join(items[:-1]) + ", and " + items[-1]
    return items[0] if items else "nothing"
