"""The figures of a round, and the alarms that tell a collapse: rewards that dried up, repeats, gibberish.

Public runs of search self-play collapsed after some hundred steps: the reward fell to 0 and the text to gibberish, or
the challenger asked one question again and again. So these three are watched in every run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from metagym.sesa.cards import question_sha256
from metagym.sesa.diversity import distances
from metagym.sesa.filters import degenerate
from metagym.sesa.slots import Slot

NEAR = 0.1
"""1 - BLEU up to which a question counts as a repeat of an earlier one of its round."""
DRY_ROUNDS = 3
"""Rounds in a row in which the challenger's mean reward is 0 or less, after which the alarm ``reward`` goes off."""
MOST_REPEATS = 0.5
"""Share of a round's questions that were asked before, above which ``repeats`` goes off."""
MOST_GIBBERISH = 0.25
"""Share of a round's replies that are degenerate, above which ``gibberish`` goes off."""
MOST_COMPARED = 256
"""Questions of a round that are compared with each other; the distances are quadratic in their number."""


def figures(slots: Sequence[Slot], seen: Collection[str] = ()) -> dict[str, Any]:
    """The figures of a round.

    Args:
        slots: Its slots.
        seen: `question_sha256` of the questions of earlier rounds.

    Returns:
        A JSON object: ``questions`` (by outcome), ``rates``, ``frontier`` (never, sometimes, always solved),
        ``reward``, ``rollouts``, ``skills``, ``diversity``, ``repeats``, ``gibberish``. What was not measured is None.
    """
    rates = [slot.rate for slot in slots if slot.rate is not None]
    rewards = [slot.paid.reward for slot in slots if slot.paid is not None and slot.paid.reward is not None]
    questions = [slot.question for slot in slots if slot.question]
    attempts = [slot.attempt for slot in slots if slot.attempt is not None]
    outcomes = [outcome for one in attempts for outcome in one.outcomes]
    replies = [turn.reply for slot in slots for episode in slot.episodes for turn in episode.turns if turn.reply]
    blocks = [one.skills for one in attempts]
    return {
        "questions": {
            "slots": len(slots),
            "asked": len(attempts),
            "reasons": dict(
                sorted(Counter(slot.paid.reason for slot in slots if slot.paid and slot.paid.reason).items())
            ),
        },
        "rates": rates,
        "rate": _mean(rates),
        "frontier": {
            "never": sum(rate == 0 for rate in rates),
            "sometimes": sum(0 < rate < 1 for rate in rates),
            "always": sum(rate == 1 for rate in rates),
        },
        "reward": _mean(rewards),
        "rollouts": {
            "played": len(outcomes),
            "right": sum(outcome is True for outcome in outcomes),
            "unscored": sum(outcome is None for outcome in outcomes),
            "probes": sum(len(one.probes) for one in attempts),
        },
        "skills": {
            "with": sum(bool(block.ids) for block in blocks),
            "sets": len({block.ids for block in blocks if block.ids}),
            "dropped": sum(len(block.dropped) for block in blocks),
        },
        "diversity": _diversity(questions),
        "repeats": _repeats(questions, seen),
        "gibberish": _mean([float(degenerate(reply)) for reply in replies]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _diversity(questions: Sequence[str]) -> float | None:
    """Mean of 1 - BLEU over all pairs of a round's questions; None where there is no pair."""
    compared = questions[:MOST_COMPARED]
    if len(compared) < 2:
        return None
    table = distances(compared)
    pairs = len(compared) * (len(compared) - 1)
    return round((float(table.sum()) - float(table.trace())) / pairs, 6)


def _repeats(questions: Sequence[str], seen: Collection[str]) -> float | None:
    """Share of questions that were asked before, word for word in earlier rounds or nearly so in this one."""
    if not questions:
        return None
    known, own = set(seen), [question_sha256(question) for question in questions]
    table = distances(questions[:MOST_COMPARED])
    repeated = 0
    for at, digest in enumerate(own):
        near = at < len(table) and bool((table[at, :at] <= NEAR).any())
        repeated += digest in known or near
        known.add(digest)
    return repeated / len(questions)


def alarms(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The alarms after the last round of a history.

    Args:
        history: The `figures` of all rounds so far.

    Returns:
        One object per alarm: ``code`` (``reward``, ``no-questions``, ``repeats``, ``gibberish``) and ``text``.
    """
    if not history:
        return []
    last, found = history[-1], []
    recent = [one["reward"] for one in history[-DRY_ROUNDS:]]
    if len(recent) == DRY_ROUNDS and all(reward is not None and reward <= 0 for reward in recent):
        found.append(("reward", f"The challenger's mean reward was 0 or less in {DRY_ROUNDS} rounds in a row."))
    if not last["questions"]["asked"]:
        found.append(("no-questions", "No question of this round could be put to the solver."))
    if (share := last["repeats"]) is not None and share > MOST_REPEATS:
        found.append(("repeats", f"{share:.0%} of this round's questions were asked before."))
    if (share := last["gibberish"]) is not None and share > MOST_GIBBERISH:
        found.append(
            ("gibberish", f"{share:.0%} of this round's replies repeat themselves or hold hardly any letters.")
        )
    return [{"code": code, "text": text} for code, text in found]
