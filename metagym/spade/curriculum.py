"""Curriculum statistics, from the records: what the designer writes, how the agent fares, what each role is paid."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metagym import stats
from metagym.episodes import Usage
from metagym.spade.advantages import advantages
from metagym.spade.outcomes import PLAIN
from metagym.spade.slots import Slot

EASY, HARD = 0.8, 0.2
"""Win rates from which on, and up to which, a program counts as easy or hard."""

BINS = 5
"""Cells of the histogram of win rates, each 1 / BINS wide; the last one holds 1."""

DUPLICATES = ("duplicate_exact", "duplicate_ast", "near_duplicate")
LEAKS = ("answer_in_observation", "answer_in_hint")


def statistics(slots: Sequence[Slot], rule: str = "center", documents: int | None = None) -> dict[str, Any]:
    """The statistics of some slots, one round's or a whole run's; what was not measured is None, never 0.

    Args:
        slots: In the order of the records.
        rule: Of the designer's advantages.
        documents: Size of the corpus; None without one.
    """
    fresh = [slot for slot in slots if slot.paid is not None]
    played = [slot for slot in slots if slot.played is not None and not slot.played.estimate.invalidated]
    return {
        "designs": _designs(fresh, documents),
        "programs": _programs(played, [slot for slot in fresh if slot in played]),
        "roles": {"designer": _designer(fresh, rule), "agent": _agent(slots)},
        "usage": {name: usage.to_json() for name, usage in usages(slots).items()},
    }


def usages(slots: Iterable[Slot]) -> dict[str, Usage]:
    """Tokens by role: designer, hint, agent (plays of programs whose worker was ended are not known and left out)."""
    parts: dict[str, list[Usage]] = {"designer": [], "hint": [], "agent": []}
    for slot in slots:
        if slot.paid is not None:
            parts["designer"] += [attempt.usage for attempt in slot.design.attempts]
        if slot.played is not None:
            if slot.played.hint is not None:
                parts["hint"].append(slot.played.hint.usage)
            if slot.played.usage is not None:
                parts["agent"].append(slot.played.usage)
    return {name: Usage.total(found) for name, found in parts.items()}


def _designs(fresh: Sequence[Slot], documents: int | None) -> dict[str, Any]:
    attempts = [attempt for slot in fresh for attempt in slot.design.attempts]
    codes = Counter(attempt.code for attempt in attempts if attempt.code)
    judged = [attempt for attempt in attempts if attempt.report is not None]
    reports = [attempt.report for attempt in attempts if attempt.report is not None and attempt.report.ok]
    steps = [report.metrics["oracle_steps"] for report in reports if "oracle_steps" in report.metrics]
    seen = {attempt.document["doc_id"] for attempt in attempts if attempt.document}
    leaks = [slot.paid.leak for slot in fresh if slot.paid is not None and slot.paid.leak is not None]
    novelty = [slot.paid.novelty for slot in fresh if slot.paid is not None and slot.paid.novelty is not None]
    return {
        "slots": len(fresh),
        "attempts": len(attempts),
        "accepted": len(reports),
        "valid_rate": stats.rate(attempt.ok for attempt in attempts).to_json(),
        "codes": dict(sorted(codes.items(), key=lambda item: (-item[1], item[0]))),
        "duplicate_rate": _share(sum(attempt.code in DUPLICATES for attempt in judged), len(judged)),
        "leak_rate": _share(math.fsum(leaks), len(leaks)),
        "novelty": _mean(novelty),
        "oracle_steps": _mean(steps),
        "interactive_share": _share(sum(value >= 2 for value in steps), len(steps)),
        "unaudited": sum("unaudited" in report.flags for report in reports),
        "documents": {"seen": len(seen), "of": documents, "coverage": _share(len(seen), documents or 0)},
    }


def _programs(played: Sequence[Slot], measured: Sequence[Slot]) -> dict[str, Any]:
    rates: dict[str, list[float]] = {}
    for slot in played:
        assert slot.played is not None
        rate = slot.played.estimate.plain.win_rate
        if rate is not None:
            rates.setdefault(slot.design.skill, []).append(rate)
    every = [rate for found in rates.values() for rate in found]
    regrets = [slot.played.estimate.regret.value for slot in measured if slot.played is not None]
    known = [value for value in regrets if value is not None]
    return {
        "played": len(played),
        "win_rate": stats.mean(every).to_json(),
        "by_skill": {skill: _spread(found) for skill, found in sorted(rates.items())},
        "shares": _spread(every),
        "regret": stats.mean(known).to_json(),
        "floored_share": _share(sum(value <= 0 for value in known), len(known)),
    }


def _spread(rates: Sequence[float]) -> dict[str, Any]:
    """Histogram of win rates, and the shares of easy, medium and hard programs."""
    cells = [0] * BINS
    for rate in rates:
        cells[min(BINS - 1, int(rate * BINS))] += 1
    easy, hard = sum(rate >= EASY for rate in rates), sum(rate <= HARD for rate in rates)
    count = len(rates)
    return {
        "programs": count,
        "histogram": cells,
        "easy": _share(easy, count),
        "medium": _share(count - easy - hard, count),
        "hard": _share(hard, count),
    }


def _designer(fresh: Sequence[Slot], rule: str) -> dict[str, Any]:
    paid = [slot.paid.breakdown for slot in fresh if slot.paid is not None]
    trained = [one.trained for one in paid]
    found: dict[str, Any] = {
        "reward": _mean([one.total for one in paid if one.total is not None]),
        "unscored": sum(one.total is None for one in paid),
        "masked_share": _share(sum(one.masked for one in paid), len(paid)),
        "advantage": None,
        "groups": 0,
        "flat_share": None,
    }
    if any(value is not None for value in trained):
        # A group is what was asked for at one time: programs of another round met another agent.
        groups = [(slot.design.round, slot.design.skill) for slot in fresh]
        made = advantages(trained, groups, rule)
        found |= {"advantage": _mean([value for value in made.values if value is not None]), "groups": made.groups}
        found["flat_share"] = _share(made.flat, made.groups)
    return found


def _agent(slots: Sequence[Slot]) -> dict[str, Any]:
    scores: list[float | None] = []
    groups: list[tuple[int, int]] = []
    for slot in slots:
        for one in () if slot.played is None else slot.played.outcomes:
            if one.arm == PLAIN and slot.played is not None:
                scores.append(one.score(True))
                groups.append((slot.played.round, slot.played.slot))
    known = [score for score in scores if score is not None]
    found: dict[str, Any] = {
        "reward": _mean(known),
        "unscored": len(scores) - len(known),
        "advantage": None,
        "groups": 0,
        "flat_share": None,
    }
    if known:
        made = advantages(scores, groups, "zscore")
        found |= {"advantage": _mean([value for value in made.values if value is not None]), "groups": made.groups}
        found["flat_share"] = _share(made.flat, made.groups)
    return found


def designer_advantages(slots: Sequence[Slot], rule: str) -> list[float | None]:
    """The designer's advantages in a regeneration, one per slot; None where nothing may be learnt from it."""
    trained = [None if slot.paid is None else slot.paid.breakdown.trained for slot in slots]
    if not any(value is not None for value in trained):
        return trained
    return list(advantages(trained, [slot.design.skill for slot in slots], rule).values)


def memory_state(before: Mapping[str, bool], after: Mapping[str, bool]) -> dict[str, int]:
    """How the memory changed: its size, what entered and what went out.

    Args:
        before: Digest to whether it is in use, when the round began.
        after: The same when it ended.
    """
    live = [digest for digest, used in after.items() if used]
    return {
        "size": len(live),
        "entered": sum(not before.get(digest, False) for digest in live),
        "left": sum(used and not after.get(digest, False) for digest, used in before.items()),
    }


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
