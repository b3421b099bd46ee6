"""What a reader of a run of SPADE must be told before the figures are believed."""

from __future__ import annotations

from metagym.runs.notices import SCRIPTED
from metagym.runs.spade_results import SpadeResults
from metagym.spade.config import ABLATIONS

FEW_VALID = 0.25
"""Below this share of accepted programs a run says that its designer is mostly refused."""

TEACHES_NOTHING = 0.75
"""From this share of programs without any spread of outcomes on, a run says that its agent has little to learn from."""


def spade_notices(results: SpadeResults) -> tuple[str, ...]:
    """The warnings of a run, most important first; each is one sentence or two.

    They cover stand-ins and mixed kinds of model, a run that has not ended, ablations, a designer that is mostly
    refused, unscored programs and failed plays, programs that nobody audited, layers of the sandbox that did not hold,
    and batches that teach nothing.
    """
    return tuple(
        [
            *_models(results),
            *_progress(results),
            *_ablations(results),
            *_designs(results),
            *_plays(results),
            *_sandbox(results),
            *_retries(results),
        ]
    )


def _models(results: SpadeResults) -> list[str]:
    kinds = {kind for seat in results.backends.values() for kind in seat} - {"pool"}
    if kinds == {"scripted"}:
        return [SCRIPTED]
    found = []
    if len(kinds) > 1:
        seats = "; ".join(f"{seat}: {' and '.join(kinds)}" for seat, kinds in results.backends.items() if kinds)
        found.append(f"Mixed kinds of model ({seats}): the figures of stand-ins say nothing of language models.")
    if any(usage.estimated for usage in results.usage.values()):
        found.append("A server reported no token counts: they are estimated as characters / 4.")
    return found


def _progress(results: SpadeResults) -> list[str]:
    if results.ended:
        return []
    wanted = results.manifest.get("config", {}).get("rounds", "?")
    return [f"The run has not ended: {len(results.summaries)} of {wanted} rounds are complete."]


def _ablations(results: SpadeResults) -> list[str]:
    names = results.manifest.get("config", {}).get("ablations", [])
    return [f"Ablation {name}: {ABLATIONS.get(name, 'unknown to this version')}." for name in names]


def _designs(results: SpadeResults) -> list[str]:
    designs, found = results.statistics["designs"], []
    attempts, accepted = designs["attempts"], designs["accepted"]
    if attempts and accepted < FEW_VALID * attempts:
        codes = ", ".join(f"{code}: {count}" for code, count in list(designs["codes"].items())[:3])
        found.append(f"The designer is mostly refused: {accepted} of {attempts} programs were accepted ({codes}).")
    if designs["unaudited"]:
        found.append(f"Unaudited: the auditor gave no clear word on {designs['unaudited']} accepted programs.")
    roles = results.statistics["roles"]
    if unscored := roles["designer"]["unscored"]:
        found.append(f"Unscored: {unscored} of {designs['slots']} programs earned no reward and enter no mean.")
    return found


def _plays(results: SpadeResults) -> list[str]:
    found = []
    if results.failures:
        named = ", ".join(f"{kind}: {count}" for kind, count in sorted(results.failures.items()))
        total = sum(results.failures.values())
        found.append(f"Failed plays: {total} of {results.plays} enter no figure ({named}).")
    refused = [
        slot.played.hint.code
        for slot in results.slots
        if slot.played is not None and slot.played.hint is not None and slot.played.hint.text is None
    ]
    lost = [code for code in refused if code != "off"]
    if lost:
        named = ", ".join(f"{code}: {lost.count(code)}" for code in sorted(set(lost)))
        found.append(f"No hint could be used for {len(lost)} programs, whose regret is unmeasured ({named}).")
    unequal = sum(slot.played.estimate.unequal_failures for slot in results.slots if slot.played is not None)
    if unequal:
        found.append(f"The arms of {unequal} programs failed in unequal shares: what is left may not be alike.")
    agent = results.statistics["roles"]["agent"]
    if agent["flat_share"] is not None and agent["groups"] >= 4 and agent["flat_share"] >= TEACHES_NOTHING:
        found.append(
            f"{agent['flat_share']:.0%} of the programs were always won or always lost: they teach the agent nothing."
        )
    return found


def _sandbox(results: SpadeResults) -> list[str]:
    inside = any(
        slot.design.last.report is not None and slot.design.last.report.isolation == "inprocess"
        for slot in results.slots
    )
    return ["Programs ran inside MetaGym's own process: no layer protected it from them."] if inside else []


def _retries(results: SpadeResults) -> list[str]:
    if not results.retries:
        return []
    return [f"Retries: {results.retries} requests to models had to be made again (rate limits or server trouble)."]
