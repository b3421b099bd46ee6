"""The reports of SESA: of a run (frontier, skills with what they are worth, distillation), and of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from metagym.episodes import Episode
from metagym.errors import MetaGymError
from metagym.runs.notices import notices
from metagym.runs.report import plots
from metagym.runs.report.frame import MAX_BYTES, part, shown_manifest, templates
from metagym.runs.report.text import visible
from metagym.runs.report.turns import content, plain
from metagym.runs.results import EVAL, Results
from metagym.runs.sesa_notices import sesa_notices
from metagym.runs.sesa_results import CardLife, SesaResults
from metagym.sesa.scores import Scores
from metagym.sesa.slots import Slot
from metagym.stats import Estimate, rate

_ROUNDS = 60  # rounds that are listed
_CARDS = 300
_SLOTS = 120  # questions that are shown with what the solver made of them
_ROOM = 3_000_000  # bytes that the questions may take


def render_sesa(results: SesaResults, name: str) -> str:
    """The page of a run of SESA, always below `MAX_BYTES` bytes of UTF-8.

    Args:
        results: What the run folder says.
        name: How the page calls the run.
    """
    values: dict[str, Any] = {
        **sesa_values(results, name),
        "notices": [visible(line, 600) for line in sesa_notices(results)],
        "figures": sesa_figures(results),
        "cards": [_card(card) for card in results.cards[-_CARDS:]],
        "more_cards": max(0, len(results.cards) - _CARDS),
        "state": results.last,
        "slots": _slots(results.slots),
        "more_slots": max(0, len(results.slots) - _SLOTS),
    }
    return _checked(templates().get_template("sesa.html.j2").render(values), name)


def sesa_values(results: SesaResults, name: str) -> dict[str, Any]:
    """What the parts of a page need that show the figures of a run; neither its texts nor its plots."""
    shown = _thinned(sorted(results.summaries))
    tried = [slot.attempt for slot in results.slots if slot.attempt is not None]
    outcomes = [outcome for one in tried for outcome in one.outcomes]
    measured = [slot.rate for slot in results.slots if slot.rate is not None]
    return {
        "name": visible(name, 120),
        "facts": _facts(results),
        "tiles": {
            "frontier": rate(0 < value < 1 for value in measured),
            "rate": rate(outcomes),
            "questions": len(results.slots),
            "asked": len(tried),
            "active": results.banks[max(results.banks)]["active"] if results.banks else None,
            "births": sum(card.born is not None and card.born >= 0 for card in results.cards),
            "gone": sum(card.gone is not None for card in results.cards),
            "lift": results.lift,
        },
        "rounds": [_round(results, number) for number in shown],
        "more_rounds": len(results.summaries) - len(shown),
        "reasons": results.reasons.most_common(),
        "distilled": {name: counts.most_common() for name, counts in results.distilled.items()},
        "calls": sum(told["distilled"]["calls"] for told in results.banks.values()),
        "duplicates": sum(told["distilled"]["duplicates"] for told in results.banks.values()),
        "usage": [*results.usage.items(), *([] if results.paid is None else [("all replies on disk", results.paid)])],
        "seconds": sum(results.seconds.values()) if results.seconds else None,
        "manifest": shown_manifest(results.manifest),
    }


def render_evaluation(results: Results, scores: Scores, name: str) -> str:
    """The page of an evaluation, always below `MAX_BYTES` bytes of UTF-8.

    Args:
        results: What its folder says.
        scores: Its table.
        name: How the page calls it.
    """
    shown = {column: results.episodes(column, 0, EVAL)[:12] for column in scores.columns if column in results.arms}
    values = {
        **evaluation_values(results, scores, name),
        "notices": [visible(line, 600) for line in notices(results)],
        "figure": Markup(evaluation_figure(scores)),
        "episodes": {column: [_episode(episode) for episode in found] for column, found in shown.items()},
    }
    return _checked(templates().get_template("sesa_eval.html.j2").render(values), name)


def evaluation_values(results: Results, scores: Scores, name: str) -> dict[str, Any]:
    """What the parts of a page need that show the figures of an evaluation; neither its episodes nor its plot."""
    versions, card = part(results.manifest, "versions"), part(results.manifest, "card")
    solver, bank = part(versions, "solver"), part(versions, "bank")
    facts = [
        ("solver", f"{solver.get('id', '-')} ({solver.get('backend', '-')})"),
        ("bank", f"{bank.get('active')} cards, {bank.get('state') or 'unnamed state'}" if bank else "not opened"),
        ("material", str(part(versions, "material").get("name", "-"))),
        ("MetaGym", str(results.manifest.get("metagym", "-"))),
    ]
    return {
        "name": visible(name, 120),
        "facts": [(label, visible(text, 200)) for label, text in facts],
        "scores": scores,
        "names": {row: visible(row, 80) for row in (*scores.rows, *scores.columns)},
        "card": [(key.replace("_", " "), visible(str(value), 120)) for key, value in card.items()],
        "bank": bank,
        "manifest": shown_manifest(results.manifest),
    }


def evaluation_figure(scores: Scores) -> str:
    """The interval of each deployment, as an SVG element."""
    found = [scores.success[column]["all, micro"] for column in scores.columns]
    return plots.intervals(found, "Success of each deployment", "deployments")


def _checked(text: str, name: str) -> str:
    size = len(text.encode("utf-8", "backslashreplace"))
    if size >= MAX_BYTES:
        raise MetaGymError(f"the report of {name} would take {size:,} bytes, more than {MAX_BYTES:,}")
    return text


def _facts(results: SesaResults) -> list[tuple[str, str]]:
    config, versions = part(results.manifest, "config"), part(results.manifest, "versions")
    facts = []
    for seat in ("challenger", "solver", "distiller", "verifier", "judge"):
        if told := part(versions, seat):
            facts.append((seat, f"{told.get('id', '')} ({told.get('backend', '')})"))
    material = part(versions, "material")
    facts.append(("material", f"{material.get('name', '-')}, {material.get('engine', '-')}"))
    facts.append(("shape", str(config.get("shape", "-"))))
    facts.append(("rollouts per question", str(config.get("rollouts", "-"))))
    facts.append(("cards per question", str(config.get("retrieve_k", "-"))))
    if config.get("switches"):
        facts.append(("switches", ", ".join(map(str, config["switches"]))))
    facts += [("seed", str(config.get("seed", "-"))), ("MetaGym", str(results.manifest.get("metagym", "-")))]
    return [(label, visible(text, 200)) for label, text in facts]


def _thinned(numbers: Sequence[int]) -> list[int]:
    step = max(1, -(-len(numbers) // _ROUNDS))
    return [*numbers[:-1][::step], numbers[-1]] if numbers else []


def _point(value: float | None) -> Estimate:
    return Estimate(value, None, None, 1)


def sesa_figures(results: SesaResults) -> list[dict[str, Any]]:
    """The frontier, the bank, and how different the questions are."""
    shown = _thinned(sorted(results.summaries))
    if not shown:
        return []
    told = [results.summaries[number] for number in shown]
    shares = [
        plots.Series([(number, _share(one["frontier"], name)) for number, one in zip(shown, told, strict=True)], colour)
        for colour, name in ((0, "sometimes"), (1, "never"), (2, "always"))
    ]
    said = ", ".join(f"round {number} {one['frontier']['sometimes']}" for number, one in zip(shown, told, strict=True))
    svg = plots.curves(shares, [], f"Questions at the frontier: {said}", "frontier", "round", "share of questions")
    figures = [
        _figure(
            svg,
            [(0, "solved at times: the frontier"), (1, "never solved"), (2, "always solved")],
            "Share of the measured questions of each round. Questions that are solved at times teach something; a bell "
            "pays the challenger for nothing else.",
        )
    ]
    rewards = [(number, _point(one["reward"])) for number, one in zip(shown, told, strict=True)]
    if any(point.value is not None for _, point in rewards):
        known = [point.value for _, point in rewards if point.value is not None]
        span = (min(0.0, *known) - 0.05, max(1.0, *known) + 0.05)
        svg = plots.curves(
            [plots.Series(rewards, 3)], [], "Reward of the challenger", "reward", "round", "reward", span
        )
        figures.append(
            _figure(svg, [(3, "mean reward of the challenger")], "Refused questions count with their penalty.")
        )
    sizes = [(number, _point(float(results.banks[number]["active"]))) for number in shown if number in results.banks]
    if len(sizes) > 1:
        most = max(point.value or 0.0 for _, point in sizes)
        svg = plots.curves([plots.Series(sizes, 4)], [], "Active cards", "bank", "round", "cards", (0, 1.1 * most + 1))
        figures.append(_figure(svg, [(4, "active cards")], "The bank at the end of each round."))
    kinds = [
        plots.Series([(number, _point(one[key])) for number, one in zip(shown, told, strict=True)], colour)
        for colour, key in ((5, "diversity"), (6, "repeats"), (7, "gibberish"))
    ]
    svg = plots.curves(kinds, [], "Diversity, repeats and gibberish", "collapse", "round", "share")
    figures.append(
        _figure(
            svg,
            [
                (5, "diversity: mean of 1 - BLEU between questions"),
                (6, "repeated questions"),
                (7, "degenerate replies"),
            ],
            "What tells a collapse early: questions grow alike or come back, replies turn to gibberish.",
        )
    )
    return figures


def _share(frontier: Mapping[str, int], name: str) -> Estimate:
    total = sum(frontier.values())
    return Estimate(frontier[name] / total, None, None, total) if total else Estimate(None, None, None, 0)


def _figure(svg: str, legend: list[tuple[int, str]], caption: str) -> dict[str, Any]:
    return {"svg": Markup(svg), "legend": legend, "caption": caption}


def _round(results: SesaResults, number: int) -> dict[str, Any]:
    told, bank = results.summaries[number], results.banks.get(number)
    kept = None if bank is None else bank["kept"]
    return {
        "round": number,
        "asked": f"{told['questions']['asked']} of {told['questions']['slots']}",
        "frontier": told["frontier"],
        "rate": told["rate"],
        "reward": told["reward"],
        "with_skills": told["skills"]["with"],
        "sets": told["skills"]["sets"],
        "born": None if bank is None else len(bank["distilled"]["added"]),
        "gone": None if kept is None else len(kept["retired"]) + len(kept["evicted"]) + len(kept["merged"]),
        "active": None if bank is None else bank["active"],
        "alarms": ", ".join(one["code"] for one in told["alarms"]),
    }


def _card(card: CardLife) -> dict[str, Any]:
    return {
        "id": card.id[:8],
        "text": visible(card.text, 300),
        "trigger": visible(card.trigger, 200),
        "source": card.source or "-",
        "born": "before" if card.born is None else "primed" if card.born < 0 else card.born,
        "uses": card.uses,
        "wins": card.wins,
        "lift": card.lift,
        "gone": "" if card.gone is None else f"{card.gone}: {visible(card.why, 120)}",
    }


def _slots(slots: Sequence[Slot]) -> list[dict[str, Any]]:
    """The last questions, each with one rollout, as long as they fit."""
    made: list[dict[str, Any]] = []
    room = _ROOM
    for slot in reversed(slots[-_SLOTS:]):
        item = _slot(slot)
        room -= len(str(item).encode("utf-8", "backslashreplace"))
        if room < 0:
            break
        made.append(item)
    return made


def _slot(slot: Slot) -> dict[str, Any]:
    tried, paid = slot.attempt, slot.paid
    reason = "" if paid is None else paid.reason
    detail = (
        slot.challenge.rejected.reason if slot.challenge is not None and slot.challenge.rejected is not None else ""
    )
    episodes = () if tried is None else tried.episodes
    picked = next((one for one in episodes if one.scored and not one.success), episodes[0] if episodes else None)
    return {
        "round": slot.round,
        "number": slot.number,
        "question": visible(slot.question or "(no question)", 600),
        "answers": visible(
            " / ".join(tried.answers if tried else slot.challenge.seed.answers if slot.challenge else ()), 200
        ),
        "hops": None if slot.challenge is None else slot.challenge.seed.hops,
        "rate": slot.rate,
        "reward": None if paid is None else paid.reward,
        "reason": "" if reason == "fixed" else visible(f"{reason}: {detail}" if detail else reason, 300),
        "outcomes": () if tried is None else tried.outcomes,
        "cards": 0 if tried is None else len(tried.skills.ids),
        "episode": None if picked is None else _episode(picked),
    }


def _episode(episode: Episode) -> dict[str, Any]:
    shown = content(episode)
    return {
        "result": "unscored" if not episode.scored or episode.success is None else "won" if episode.success else "lost",
        "task": visible(episode.task.id, 80),
        "type": visible(episode.task.type, 60),
        "steps": episode.steps,
        "turns": Markup(plain(shown["turns"])),
        "more": shown["more"],
        "last": shown["last"],
        "note": shown["note"],
    }
