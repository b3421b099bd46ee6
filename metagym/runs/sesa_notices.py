"""What a reader of a run of SESA must be told before the figures are believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metagym.runs.notices import SCRIPTED
from metagym.runs.sesa_results import SesaResults
from metagym.sesa.config import SWITCHES

FEW_ASKED = 0.25
"""Below this share of valid questions a run says that its challenger is mostly refused."""


def sesa_notices(results: SesaResults) -> tuple[str, ...]:
    """The warnings of a run, most important first; each is one sentence or two.

    They cover stand-ins and mixed kinds of model, switches, alarms, a run that has not ended, a challenger that is
    mostly refused, unscored rollouts, calls of the distiller that failed, and a bank that cannot be read.
    """
    return tuple(
        [
            *_models(results),
            *_switches(results),
            *_alarms(results),
            *_progress(results),
            *_counts(results),
            *_bank(results),
        ]
    )


def _models(results: SesaResults) -> list[str]:
    versions = results.manifest.get("versions", {})
    kinds = {
        seat: told["backend"] for seat, told in versions.items() if isinstance(told, Mapping) and "backend" in told
    }
    if set(kinds.values()) == {"scripted"}:
        return [SCRIPTED]
    found = []
    if len(set(kinds.values())) > 1:
        seats = "; ".join(f"{seat}: {kind}" for seat, kind in kinds.items())
        found.append(f"Mixed kinds of model ({seats}): the figures of stand-ins say nothing of language models.")
    if any(usage.estimated for usage in results.usage.values()):
        found.append("A server reported no token counts: they are estimated as characters / 4.")
    return found


def _config(results: SesaResults) -> Mapping[str, Any]:
    config = results.manifest.get("config")
    return config if isinstance(config, Mapping) else {}


def _switches(results: SesaResults) -> list[str]:
    return [
        f"Switch {name}: {SWITCHES.get(name, ('unknown to this version',))[0]}."
        for name in _config(results).get("switches", [])
    ]


def _alarms(results: SesaResults) -> list[str]:
    by_text: dict[str, list[int]] = {}
    for round, text in results.alarms:
        by_text.setdefault(text, []).append(round)
    shown = []
    for text, rounds in list(by_text.items())[-8:]:
        where = f"rounds {rounds[0]} to {rounds[-1]}" if len(rounds) > 1 else f"round {rounds[0]}"
        shown.append(f"Alarm, {where}: {text}")
    return shown


def _progress(results: SesaResults) -> list[str]:
    if results.ended:
        if len(results.summaries) < _config(results).get("rounds", 0):
            return [f"The run was stopped by an alarm after {len(results.summaries)} rounds."]
        return []
    wanted = _config(results).get("rounds", "?")
    return [f"The run has not ended: {len(results.summaries)} of {wanted} rounds are complete."]


def _counts(results: SesaResults) -> list[str]:
    found = []
    slots = [slot for slot in results.slots if slot.challenge is not None]
    asked = sum(slot.asked for slot in slots)
    if slots and asked < FEW_ASKED * len(slots):
        codes = ", ".join(f"{code}: {count}" for code, count in results.reasons.most_common(3))
        found.append(f"The challenger is mostly refused: {asked} of {len(slots)} questions counted ({codes}).")
    if unscored := sum(told["rollouts"]["unscored"] for told in results.summaries.values()):
        found.append(f"{unscored} rollouts were not scored; they enter no success rate.")
    failed = sum(results.distilled["refused"][code] for code in ("failed", "no-reply"))
    if failed:
        found.append(f"{failed} calls of the distiller failed or brought no text.")
    if results.retries:
        found.append(f"{results.retries} model requests had to be made again.")
    return found


def _bank(results: SesaResults) -> list[str]:
    if results.unread:
        return [f"The bank cannot be read, so cards are shown by their ids alone: {results.unread}"]
    return []
