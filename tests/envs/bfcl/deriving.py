"""Derives the list of known defects from the data; the two facts of each are in the docstring of `known_defects`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from metagym_envs.bfcl.checking import judge
from metagym_envs.bfcl.data import CATEGORIES, Entry, entries
from metagym_envs.bfcl.world import World

_PLACEHOLDER = re.compile(r"x{1,4}|\$?\{\w+\}", re.IGNORECASE)


def defects() -> dict[str, str]:
    """Entry -> kind of defect (``text``, ``asks`` or both), in the order of the data."""
    found = {}
    for category in CATEGORIES:
        for id_, entry in entries(category).items():
            if any(_matters(entry, *place) for place in _unread(entry)):
                found[id_] = "text"
            if _asks_in_full(entry):
                found[id_] = f"{found[id_]}+asks" if id_ in found else "asks"
    return found


def _unread(entry: Entry) -> Iterator[tuple[int, int, str]]:
    """Turn, number of the call, and argument of texts that nobody can have read."""
    world = World(entry)
    users: list[str] = []
    told = list(_leaves(entry.config)) + [text for one in world.instances.values() for text in _state(one)]
    for turn, calls in enumerate(entry.truth):
        users.append(entry.turns[turn])
        for number, call in enumerate(calls):
            for name, value in call.kwargs.items():
                if isinstance(value, str) and len(value.split()) >= 4 and not _readable(value, told, users):
                    yield turn, number, name
            told.append(_decoded(world.call(call)))


def _readable(value: str, told: list[str], users: list[str]) -> bool:
    def stands(part: str) -> bool:
        return any(_plain(part) in _plain(text) for text in (*told, *users))

    parts = value.split(", ")
    return (
        stands(value) or any(_dictated(value, text) for text in users) or (len(parts) > 2 and all(map(stands, parts)))
    )


def _dictated(value: str, text: str) -> bool:
    """Whether a user's template fits a text, word by word, placeholders standing for anything."""
    words, wanted = _words(text), _words(value)
    for start in range(len(words) - len(wanted) + 1):
        pairs = list(zip(words[start:], wanted, strict=False))
        held = [bool(_PLACEHOLDER.fullmatch(word)) for word, _ in pairs]
        if any(held) and all(free or a.casefold() == b.casefold() for free, (a, b) in zip(held, pairs, strict=True)):
            return True
    return False


def _matters(entry: Entry, turn: int, number: int, name: str) -> bool:
    """Whether the checker refuses the answer with another text in that place."""
    calls = list(entry.truth[turn])
    call = calls[number]
    calls[number] = replace(call, kwargs={**call.kwargs, name: "Something else in as many words."})
    played = [[list(one)] if one else [] for one in entry.truth]
    played[turn] = [calls]
    return not judge(entry, played).valid


def _asks_in_full(entry: Entry) -> bool:
    """Whether a turn wants no call, though with the same words so far the answer of multi_turn_base calls there."""
    if not entry.category.endswith("miss_param"):
        return False
    base = entries("multi_turn_base")[f"multi_turn_base_{entry.scenario}"]
    for turn, (calls, others) in enumerate(zip(entry.truth, base.truth, strict=False)):
        if entry.turns[turn] != base.turns[turn] or entry.tools != base.tools:
            return False
        if not calls and others:
            return True
    return False


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield str(name)
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield str(value)


def _state(instance: Any) -> Iterator[str]:
    for name, value in vars(instance).items():
        if hasattr(value, "contents"):
            yield from _files(value)
        elif not name.startswith("_"):
            yield from _leaves(value)


def _files(folder: Any) -> Iterator[str]:
    for name, item in folder.contents.items():
        yield name
        yield from _files(item) if hasattr(item, "contents") else (str(item.content),)


def _decoded(text: str) -> str:
    return text.replace("\\n", "\n").replace('\\"', '"')


def _words(text: str) -> list[str]:
    return re.findall(r"\$?\{\w+\}|\w+(?:[.,]\w+)*", text)


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().casefold()
