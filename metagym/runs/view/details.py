"""What the pages of single things show: an episode's facts, a program with its kin, a refused attempt, a card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from metagym.episodes import Episode
from metagym.errors import MetaGymError, UnknownName
from metagym.journal import Journal
from metagym.runs.folder import BANK, MEMORY
from metagym.runs.report.frame import templates
from metagym.runs.report.spade import environment_view
from metagym.runs.report.text import visible
from metagym.runs.view.catalogue import Run, sentence
from metagym.runs.view.curves import sesa_results, spade_results
from metagym.runs.view.records import PromptLine, Row
from metagym.sesa.files import JOURNAL
from metagym.spade.memory import EnvMemory
from metagym.spade.slots import Attempt, Design
from metagym.spade.validation import CODES

_SOURCE = 50_000  # characters of a program or reply that are shown
_EVENTS = 300  # of a card's uses the last ones


def episode_facts(row: Row, episode: Episode) -> list[tuple[str, str]]:
    """What is known of an episode beside its turns."""
    usage, task = episode.usage, episode.task
    told = [
        ("family", task.family),
        ("type", task.type or "-"),
        ("split", task.split),
        ("arm", row.arm),
        ("turn", str(row.turn)),
        ("phase", row.phase),
        ("return", f"{episode.ret:.2f}" if episode.scored else "-"),
        ("status", episode.status.value),
        ("cause", episode.cause),
        ("steps", f"{episode.steps:,}"),
        ("model", episode.backend),
        ("tokens", f"{usage.prompt_tokens + usage.completion_tokens:,} in {usage.calls:,} calls"),
        ("record", row.line.key),
    ]
    return [(name, visible(text, 300)) for name, text in told if text]


def prompt_name(line: PromptLine) -> str:
    """How a list of prompts calls one."""
    step = line.step
    where = f"{visible(step.arm, 40)}, " if step.arm else ""
    where += f"seed {step.seed}, " if step.arm or step.seed else ""
    return f"{where}turn {step.turn} ({visible(step.outcome, 30)})"


def program(run: Run, digest: str) -> dict[str, Any]:
    """A program with its figures, its kin and its place in the memory.

    Raises:
        UnknownName: The run has no such program.
        MetaGymError: The run cannot be read.
    """
    results = spade_results(run)
    known = {one.digest: one for one in results.environments}
    if digest not in known:
        raise UnknownName("the run has no such program")
    one = known[digest]

    def kin(other: str) -> dict[str, Any]:
        there = known.get(other)
        title = other[:12] if there is None else there.design.program.title
        found = None if there is None or there.first is None else there.first.estimate
        return {
            "digest": visible(other, 64),
            "title": visible(title, 120),
            "here": there is not None,
            "note": "not in this run" if there is None else "-" if found is None else f"won {found.p0.point()}",
        }

    children = [other.digest for other in results.environments if digest in other.design.program.parents]
    values = {**environment_view(one, digest), "shown": results.shown.get(digest, 0)}
    values["source"] = visible(one.design.program.source, _SOURCE)
    return {
        "page_title": f"{visible(one.design.program.title, 80)} - {run.name}",
        "name": visible(one.design.program.title, 120),
        "html": Markup(templates().get_template("spade_env.html.j2").render(values, open=True)),
        "digest": digest,
        "parents": [kin(other) for other in one.design.program.parents],
        "children": [kin(other) for other in children],
        "memory": _in_memory(run, digest),
        "attempts": [
            {"code": visible(tried.code, 60), "words": visible(tried.words, 400)}
            for tried in one.design.attempts
            if tried.code
        ],
    }


def _in_memory(run: Run, digest: str) -> str:
    """Whether the memory still uses a program, in words; its file need not be there."""
    path = run.path / MEMORY
    if not path.is_file():
        return f"the run has no {MEMORY}"
    try:
        with EnvMemory.open(path) as memory:
            view = next((view for view in memory.snapshot().all_views if view.digest == digest), None)
    except MetaGymError as error:
        return visible(f"{MEMORY} cannot be read: {sentence(error, run)}", 400)
    if view is None:
        return "never entered the memory"
    return f"{'in use' if view.live else 'evicted'}; {view.plays} plays measured, the last in round {view.last_played}"


def attempt(design: Design, number: int, tried: Attempt) -> dict[str, Any]:
    """A refused attempt: the verdict, and what the designer wrote."""
    document = tried.document or {}
    return {
        "page_title": f"{visible(tried.code, 60)} - refused attempt",
        "code": visible(tried.code, 60),
        "stage": CODES.get(tried.code, "reply"),
        "words": visible(tried.words, 2_000),
        "facts": [
            ("round", str(design.round)),
            ("slot", str(design.slot)),
            ("attempt", f"{number + 1} of {len(design.attempts)}"),
            ("skill", visible(design.skill, 80)),
            ("model", design.backend),
            ("document", visible(str(document.get("title") or document.get("source") or "-"), 120)),
        ],
        "source": visible(tried.source, _SOURCE),
        "reply": visible(tried.reply or "", _SOURCE) if tried.reply and tried.reply != tried.source else "",
    }


def card(run: Run, id_: str) -> dict[str, Any]:
    """A card: its fields, its versions, its events in the bank's journal, the questions that it was used for.

    Raises:
        UnknownName: The run has no such card.
        MetaGymError: The run cannot be read.
    """
    results = sesa_results(run)
    life = next((one for one in results.cards if one.id == id_), None)
    if life is None:
        raise UnknownName("the run has no such card")
    entry = results.entries.get(id_)
    names = ("description", "trigger", "anti_pattern", "query_template", "category", "notes", "question")
    texts = {} if entry is None else {name: getattr(entry.card, name) for name in names}
    fields = [(name.replace("_", " "), visible(text, 4_000)) for name, text in texts.items() if text]
    slots = [slot for slot in results.slots if slot.attempt is not None and id_ in slot.attempt.skills.ids]
    events, unread = _events(run, id_)
    return {
        "page_title": f"{visible((entry and entry.card.title) or life.text or id_, 80)} - {run.name}",
        "heading": visible((entry and entry.card.title) or life.text or id_, 200),
        "id": id_,
        "life": life,
        "entry": entry,
        "fields": fields,
        "versions": _versions(results.entries, id_),
        "uses": [
            {
                "round": slot.round,
                "question": visible(slot.question or "", 300),
                "outcomes": ["unscored" if won is None else "won" if won else "lost" for won in slot.attempt.outcomes],
            }
            for slot in slots[-_EVENTS:]
        ],
        "more_uses": max(0, len(slots) - _EVENTS),
        "events": events[-_EVENTS:],
        "more_events": max(0, len(events) - _EVENTS),
        "unread": visible(results.unread or unread, 400),
    }


def _versions(entries: Any, id_: str) -> list[dict[str, str]]:
    """The cards that this one was made from, took the place of, or gave its place to."""
    entry = entries.get(id_)
    if entry is None:
        return []
    found = [("made from", one) for one in entry.card.parents]
    found += [("took in", one) for one in entry.absorbed]
    before = [one for one, other in entries.items() if other.replaced_by == id_ and one not in entry.absorbed]
    found += [("took the place of", one) for one in before]
    if entry.replaced_by:
        found.append((f"{entry.status}: its place took", entry.replaced_by))
    texts = {one: entries[one].card.description if one in entries else "not in this bank" for _, one in found}
    return [{"how": how, "id": one, "text": visible(texts[one], 200)} for how, one in found]


def _events(run: Run, id_: str) -> tuple[list[tuple[str, str]], str]:
    """The events of the bank's journal that are about a card, and why there are none, if they cannot be read."""
    told = run.manifest.get("bank", "none")
    if told == "none":
        return [], ""
    path = (run.path / BANK if told == "own" else Path(str(told))) / JOURNAL
    found = []
    try:
        with Journal.open(path) as journal:
            for key, event in journal.records():
                if words := _event(event, id_):
                    found.append((key.lstrip("0"), visible(words, 300)))
    except MetaGymError as error:
        return [], sentence(error, run)
    return found, ""


def _event(event: Any, id_: str) -> str:
    """An event in words; "" where it is about other cards."""
    if not isinstance(event, dict):
        return ""
    kind = event.get("event")
    if kind == "use" and event.get("id") == id_:
        step = "" if event.get("step") is None else f" in step {event['step']}"
        return f"used{step}: {'won' if event.get('won') is True else 'lost'}"
    if kind in ("claim", "retire") and event.get("id") == id_:
        return "a person wrote it too" if kind == "claim" else f"{event.get('status')}: {event.get('why')}"
    if kind == "merge" and id_ in (event.get("keep"), event.get("drop")):
        return f"took in {event.get('drop')}" if event.get("keep") == id_ else f"merged into {event.get('keep')}"
    if kind == "add":
        from metagym.sesa.cards import SkillCard

        try:
            if SkillCard.from_json(event.get("card")).id == id_:
                return "added to the bank"
        except MetaGymError:
            return ""
        if id_ in event.get("supersedes", []):
            return "superseded by a newer card"
    return ""
