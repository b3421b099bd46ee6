"""From a distiller's reply to cards: whatever a model writes becomes a card or a counted refusal, never a crash.

A draft is a JSON object with ``description``, ``trigger``, ``anti_pattern`` and ``query_template``; prose or a code
fence around it is passed over. A card must be of use beyond its question and safe in a prompt: it
needs a slot, names none of the question's entities, gives no answer away, and holds no markup and no orders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metagym.answers import visible
from metagym.errors import BadInput
from metagym.searching import neutral
from metagym.sesa.cards import CONTENT, SkillCard, leaked, question_sha256, words
from metagym.sesa.filters import degenerate

MAX_REPLY = 50_000
"""Most characters of a reply that is read at all; a card has some hundreds."""
MAX_TRIES = 200
"""Most places of a reply at which an object may begin."""

_SLOT = re.compile(r"\{[A-Za-z][A-Za-z0-9_ ]{0,30}\}")
_NAME = re.compile(r"(?<![.?!:]\s)(?<!^)\b[A-Z][\w'’.-]*(?:\s+(?:of|the|de|von|van|and)?\s*[A-Z][\w'’.-]*)+")
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.]{0,40}\b(?:previous|prior|above|earlier|all|your|system)\b[^.]{0,40}"
    r"\b(?:instruction|prompt|rule|message|direction|context)s?\b|^\s*(?:system|assistant|user)\s*:",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Refusal:
    """Why a reply or a draft made no card.

    Attributes:
        code: For counting: ``too-long``, ``no-json``, ``half-json``, ``missing-field``, ``bad-field``, ``no-slot``,
            ``names-entity``, ``leak``, ``markup``, ``order``, ``degenerate``, ``too-many``.
        reason: One sentence.
    """

    code: str
    reason: str


@dataclass(frozen=True)
class Origin:
    """Where drafts come from; decides what they may say.

    Attributes:
        question: The question.
        answers: Its gold answers.
        titles: Titles of passages that its rollouts have read.
        step: Step of the run.
        keep_question: Store the question's text on the card, and not its digest alone.
        parents: Ids of the cards that stood in the rollouts' prompts.
    """

    question: str
    answers: tuple[str, ...]
    titles: tuple[str, ...] = ()
    step: int = 0
    keep_question: bool = False
    parents: tuple[str, ...] = ()


def objects_in(text: str) -> list[Mapping[str, Any]] | Refusal:
    """The JSON objects of a reply, in order: bare, in a list, in prose or in a code fence."""
    if len(text) > MAX_REPLY:
        return Refusal("too-long", f"the reply has {len(text):,} characters, at most {MAX_REPLY:,} are read")
    text = visible(text)  # a draft inside the thinking is none
    decoder = json.JSONDecoder(parse_constant=_refuse)
    found: list[Mapping[str, Any]] = []
    at, tries = text.find("{"), 0
    while at >= 0 and tries < MAX_TRIES:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict) and set(CONTENT) & set(value):
                found.append(value)
            elif isinstance(value, dict):
                end = at + 1  # the drafts may stand inside of it
        at = text.find("{", end)
    if found:
        return found
    if "{" in text:
        return Refusal("half-json", "the reply begins a JSON object that cannot be read or is no card")
    return Refusal("no-json", "the reply holds no JSON object")


def cards_in(text: str, origin: Origin, most: int = 1) -> tuple[list[SkillCard], list[Refusal]]:
    """The cards of a reply, and why the rest is none.

    Args:
        text: What the distiller wrote.
        origin: The question it wrote about.
        most: Cards that one reply may bring; later ones are refused.
    """
    found = objects_in(text)
    if isinstance(found, Refusal):
        return [], [found]
    cards: list[SkillCard] = []
    refusals: list[Refusal] = []
    for value in found:
        card = card_of(value, origin)
        if isinstance(card, SkillCard) and len(cards) >= most:
            card = Refusal("too-many", f"one reply brings at most {most} cards")
        if isinstance(card, Refusal):
            refusals.append(card)
        else:
            cards.append(card)
    return cards, refusals


def card_of(value: Mapping[str, Any], origin: Origin) -> SkillCard | Refusal:
    """One draft as a card, or why it is none."""
    fields: dict[str, str] = {}
    for name in CONTENT:
        text = value.get(name)
        if not isinstance(text, str) or not text.strip():
            return Refusal("missing-field", f"the draft's {name} is no text")
        fields[name] = text
    try:
        card = SkillCard(
            **fields,
            source="failure",
            created_step=origin.step,
            question=origin.question if origin.keep_question else "",
            question_sha256=question_sha256(origin.question),
            parents=origin.parents,
        )
    except BadInput as error:
        return Refusal("bad-field", str(error))
    return _refused(card, origin) or card


def _refused(card: SkillCard, origin: Origin) -> Refusal | None:
    content = {name: getattr(card, name) for name in CONTENT}
    for name, text in content.items():
        if neutral(text) != text or "```" in text:
            return Refusal("markup", f"the draft's {name} holds markup of prompts")
        if _ORDER.search(text):
            return Refusal("order", f"the draft's {name} gives orders to the reader of a prompt")
        if degenerate(text):
            return Refusal("degenerate", f"the draft's {name} is no sentence")
    if not _SLOT.search(card.query_template):
        return Refusal("no-slot", "the draft's query_template has no slot such as {entity}")
    if name := _named(card.query_template, origin):
        return Refusal("names-entity", f"the draft's query_template names {name!r}, and so fits one question alone")
    answers = origin.answers
    if found := [field for field, _ in leaked(card, answers) if field != "question"]:
        return Refusal("leak", f"the draft's {found[0]} gives the answer away")
    return None


def entities_of(question: str, titles: Iterable[str]) -> tuple[str, ...]:
    """The named entities of a question: titles of passages that stand in it, and runs of capitalised words."""
    inside = words(question)
    named = [title for title in titles if (form := words(title)).strip() and form in inside]
    return tuple(dict.fromkeys([*named, *_NAME.findall(question)]))


def _named(template: str, origin: Origin) -> str:
    inside = words(template)
    for name in entities_of(origin.question, origin.titles):
        if words(name) in inside:
            return name
    return ""


def redacted(text: str, answers: Sequence[str]) -> str:
    """A text in which no answer stands: each becomes ``[hidden]``, whatever its case and spacing.

    An article before it is no part of an answer, as in scoring: where the gold is "The Vash", "Vash" is hidden too.
    """
    for answer in sorted(answers, key=len, reverse=True):
        parts = [re.escape(part) for part in re.findall(r"\w+", answer)]
        if parts and parts[0].lower() in ("a", "an", "the") and len("".join(parts[1:])) >= 3:
            del parts[0]
        if parts:
            text = re.sub(r"(?<!\w)" + r"[\W_]+".join(parts) + r"(?!\w)", "[hidden]", text, flags=re.IGNORECASE)
    return text


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
