"""The page's lists as JSON, a part at a time: runs, episodes, prompts, cards, programs, refused attempts.

Every list has one form, so that one small script draws all of them:

    {"rows": [{"href": ..., "id": ..., "cells": [text or {"t": text, "c": class, "s": small text}, ...]}, ...],
     "total": rows that pass the filter, "all": rows there are, "offset": of the first one, "limit": rows of a part,
     "facets": {name: [[value, count], ...]}, "version": changes when the list may have changed,
     "reading": share of the records read, or null}

Texts are bounded and have visible characters only; the script puts them into text nodes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from metagym.episodes import Episode
from metagym.errors import BadInput
from metagym.runs.report.text import visible
from metagym.runs.spade_results import Environment
from metagym.runs.view.catalogue import Catalogue, Run
from metagym.runs.view.curves import sesa_results, spade_results
from metagym.runs.view.records import Row
from metagym.spade.slots import Attempt, Design
from metagym.spade.validation import CODES
from metagym.stats import Estimate

PAGE = 100
"""Rows of a part."""
MOST = 500
"""Rows of a part at most."""
MAX_WORDS = 20
"""Words of the text filter."""
_FACETS = 200  # values of a facet that are offered

SAME = {"same": True}
"""The answer to a list's question that names the version which is still the last one."""

Query = Mapping[str, str]
Item = dict[str, Any]


def runs_list(catalogue: Catalogue, query: Query) -> dict[str, Any]:
    """The runs, by name."""
    reading = catalogue.refresh()
    runs = catalogue.runs()
    facets = {
        "kind": lambda run: (run.kind,),
        "status": lambda run: (run.status,),
        "family": lambda run: run.families,
        "model": lambda run: run.models,
    }
    version = _short("-".join([str(len(runs)), *(run.version for run in runs)]))
    if reading is None and query.get("version") == version:
        return SAME
    answer = _answer(
        runs, query, facets, lambda run: f"{run.name} {run.kind} {' '.join((*run.families, *run.models))}", _run_row
    )
    return {**answer, "version": version, "reading": reading}


def _run_row(run: Run) -> Item:
    trouble = run.problems
    latest, of = run.latest
    return {
        "href": f"/run/{run.id}",
        "id": run.id,
        "cells": [
            {"t": run.name, "s": visible(trouble[0], 240) if trouble else ""},
            run.kind,
            {"t": run.status, "c": f"status {run.status.replace(' ', '-')}"},
            visible(", ".join(run.families), 80) or "-",
            visible(", ".join(run.models), 120) or "-",
            f"{len(run.records.rows):,}",
            {"t": latest.point(), "s": f"{of} {latest.interval()} n={latest.n}" if latest.measured else of},
        ],
    }


def episodes_list(run: Run, query: Query) -> dict[str, Any]:
    """The episodes of a run, in the order of the records."""
    facets = {
        "result": lambda row: (result(row.episode),),
        "phase": lambda row: (row.phase,),
        "turn": lambda row: (str(row.turn),),
        "arm": lambda row: (row.arm,) if row.arm else (),
        "type": lambda row: (row.episode.task.type,) if row.episode.task.type else (),
        "status": lambda row: (row.episode.status.value,),
    }
    rows: Sequence[Row] = run.records.rows
    rows = rows[:]  # it may grow meanwhile
    answer = _answer(rows, query, facets, _episode_text, lambda row: _episode_row(run, row))
    return {**answer, "version": run.version, "reading": run.records.reading}


def _episode_text(row: Row) -> str:
    return f"{row.episode.task.id} {row.episode.task.type} {row.arm} {row.phase} {row.episode.cause}"


def _episode_row(run: Run, row: Row) -> Item:
    episode = row.episode
    won = result(episode)
    where = f"{visible(row.arm, 60)}, turn {row.turn}" if row.arm else str(row.turn)
    status = episode.status.value if not episode.cause else f"{episode.status.value}: {visible(episode.cause, 120)}"
    return {
        "href": f"/run/{run.id}/episode/{row.number}",
        "id": str(row.number),
        "cells": [
            visible(episode.task.id, 160),
            {"t": won, "c": f"pill {won}"},
            visible(episode.task.type, 60) or "-",
            where,
            visible(row.phase, 60),
            str(row.steps),
            f"{episode.ret:.2f}" if episode.scored else "-",
            "" if status == "ok" else status,
        ],
    }


def result(episode: Episode) -> str:
    """``won``, ``lost``, ``unknown`` or ``unscored``."""
    return "unscored" if not episode.scored else {True: "won", False: "lost", None: "unknown"}[episode.success]


def cards_list(run: Run, query: Query) -> dict[str, Any]:
    """The cards of a run of SESA, in the order of their birth.

    Raises:
        MetaGymError: The run cannot be read.
    """
    found = sesa_results(run)
    entries = found.entries
    facets = {
        "status": lambda card: (_card_status(card, entries),),
        "source": lambda card: (card.source or "not in the bank",),
        "used": lambda card: ("used" if card.uses else "never used",),
    }

    def row(card: Any) -> Item:
        entry = entries.get(card.id)
        title = "" if entry is None else entry.card.title
        return {
            "href": f"/run/{run.id}/skill/{visible(card.id, 40)}",
            "id": visible(card.id, 40),
            "cells": [
                {"t": visible(title or card.text or card.id, 160), "s": visible(card.text if title else "", 200)},
                {"t": (status := _card_status(card, entries)), "c": f"status {status}"},
                card.source or "-",
                "before" if card.born is None else "primed" if card.born < 0 else str(card.born),
                str(card.uses),
                str(card.wins),
                _estimate(card.lift, sign=True),
            ],
        }

    answer = _answer(found.cards, query, facets, lambda card: f"{card.id} {card.text} {card.trigger}", row)
    return {**answer, "version": run.version, "reading": run.records.reading}


def _card_status(card: Any, entries: Mapping[str, Any]) -> str:
    return entries[card.id].status if card.id in entries else "unknown"


def programs_list(run: Run, query: Query) -> dict[str, Any]:
    """The accepted programs of a run of SPADE, in the order in which they were written.

    Raises:
        MetaGymError: The run cannot be read.
    """
    found = spade_results(run)
    facets = {
        "skill": lambda one: (one.design.skill,),
        "round": lambda one: (str(one.design.round),),
        "parents": lambda one: ("has parents" if one.design.program.parents else "written afresh",),
    }

    def row(one: Environment) -> Item:
        estimate = None if one.first is None else one.first.estimate
        return {
            "href": f"/run/{run.id}/program/{one.digest}",
            "id": one.digest,
            "cells": [
                {"t": visible(one.design.program.title, 120), "s": one.digest[:12]},
                visible(one.design.skill, 60),
                str(one.design.round),
                "-" if estimate is None else _estimate(estimate.p0),
                "-" if estimate is None else _estimate(estimate.p1),
                "-" if estimate is None else _estimate(estimate.regret, sign=True),
                "-" if one.reward is None else f"{one.reward:+.3f}",
                str(len(one.design.program.parents)),
            ],
        }

    texts: Callable[[Any], str] = lambda one: f"{one.design.program.title} {one.digest} {one.design.skill}"  # noqa: E731
    return {**_answer(found.environments, query, facets, texts, row), "version": run.version, "reading": None}


def attempts(run: Run) -> list[tuple[Design, int, Attempt]]:
    """Every refused attempt of a run of SPADE: its design, its place in it, and itself.

    Raises:
        MetaGymError: The run cannot be read.
    """
    designs = {(slot.design.round, slot.design.slot): slot.design for slot in spade_results(run).slots}
    return [
        (design, number, attempt)
        for design in designs.values()
        for number, attempt in enumerate(design.attempts)
        if attempt.code
    ]


def refused_list(run: Run, query: Query) -> dict[str, Any]:
    """The refused attempts of a run of SPADE, by code.

    Raises:
        MetaGymError: The run cannot be read.
    """
    facets = {
        "code": lambda one: (one[2].code,),
        "skill": lambda one: (one[0].skill,),
        "round": lambda one: (str(one[0].round),),
    }

    def row(one: tuple[Design, int, Attempt]) -> Item:
        design, number, attempt = one
        return {
            "href": f"/run/{run.id}/attempt/{design.round}-{design.slot}-{number}",
            "id": f"{design.round}-{design.slot}-{number}",
            "cells": [
                {"t": visible(attempt.code, 60)},
                CODES.get(attempt.code, "reply"),
                str(design.round),
                str(design.slot),
                visible(design.skill, 60),
                visible(attempt.words, 240),
            ],
        }

    answer = _answer(attempts(run), query, facets, lambda one: f"{one[2].code} {one[0].skill} {one[2].words}", row)
    return {**answer, "version": run.version, "reading": None}


def _answer(
    items: Sequence[Any],
    query: Query,
    facets: Mapping[str, Callable[[Any], Iterable[str]]],
    text: Callable[[Any], str],
    row: Callable[[Any], Item],
) -> dict[str, Any]:
    """One part of a list, filtered; a facet counts what the other filters leave."""
    every, words = len(items), dict.fromkeys(query.get("q", "").casefold().split())
    if len(words) > MAX_WORDS:
        raise BadInput(f"the filter has {len(words)} words, and {MAX_WORDS} are looked for at most")
    if words:
        texts = [text(item).casefold() for item in items]
        items = [item for item, found in zip(items, texts, strict=True) if all(word in found for word in words)]
    columns = {name: [tuple(of(item)) for item in items] for name, of in facets.items()}
    passing: dict[str, list[bool]] = {}
    for name in facets:
        if wanted := query.get(name):
            passing[name] = [wanted in map(_facet, values) for values in columns[name]]
    counts = {}
    for name, column in columns.items():  # what each value would leave under the other filters
        others = [passed for other, passed in passing.items() if other != name]
        left = column if not others else [one for one, *on in zip(column, *others, strict=True) if all(on)]
        counts[name] = Counter[str]()
        for value, count in Counter(chain.from_iterable(left)).items():
            counts[name][_facet(value)] += count
    kept = items
    if passing:
        kept = [item for item, *on in zip(items, *passing.values(), strict=True) if all(on)]
    limit = _number(query, "limit", PAGE, MOST)
    offset = _number(query, "offset", 0, 10**9)
    if offset >= len(kept):
        offset = max(0, (len(kept) - 1) // max(limit, 1) * limit)
    return {
        "rows": [row(item) for item in kept[offset : offset + limit]],
        "total": len(kept),
        "all": every,
        "offset": offset,
        "limit": limit,
        "facets": {name: _ordered(found) for name, found in counts.items()},
    }


def _ordered(found: Counter[str]) -> list[list[Any]]:
    if all(value.isdecimal() for value in found):
        return [[value, count] for value, count in sorted(found.items(), key=lambda pair: int(pair[0]))][:_FACETS]
    return [[value, count] for value, count in sorted(found.items())][:_FACETS]


@lru_cache(maxsize=4096)
def _facet(value: str) -> str:
    return visible(value, 120)


def _number(query: Query, name: str, default: int, most: int) -> int:
    """A number of a query.

    Raises:
        BadInput: It is none.
    """
    told = query.get(name, "")
    if not told:
        return default
    if not (told.isascii() and told.isdecimal() and len(told) <= 9):
        raise BadInput(f"{name} is a number, got {told!r:.40}")
    return max(1, min(int(told), most)) if name == "limit" else min(int(told), most)


def _estimate(estimate: Estimate, sign: bool = False) -> Any:
    if estimate.value is None:
        return "-"
    return {"t": estimate.point(2, sign), "s": f"{estimate.interval(2, sign)} n={estimate.n}"}


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]
