"""Skill cards: what one lesson is, which text it may hold, and which identity it has.

A card says what to do (description), when (trigger), what not to do (anti-pattern) and how to ask for it (query
template). Its id is a hash of these four in their normal form: equal content is one card, whoever writes it and when.
The text of a card comes from people, models and downloads, and goes into prompts; so it is bounded and holds no
invisible characters.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from metagym.answers import normalise
from metagym.checks import settle, shown, whole
from metagym.errors import BadInput
from metagym.texts import normal as normal
from metagym.texts import question_sha256 as question_sha256
from metagym.texts import words as words

Source = Literal["hand", "bootstrap", "failure"]

SOURCES: tuple[str, ...] = get_args(Source)
"""Who wrote a card: a person, mining before the run, or a distilled failure."""

CONTENT = ("description", "trigger", "anti_pattern", "query_template")
"""The fields that make a card what it is."""

USE_WHEN = "Use when:"
"""Between description and trigger in a card's file; Agent Skills want both in the one field ``description``."""

LIMITS = {"title": 120, "description": 1000, "trigger": 1000, "anti_pattern": 2000, "query_template": 2000}
"""Field -> most characters."""
MAX_DESCRIPTION = 1024
"""Description and trigger together, as the Agent Skills format limits its field ``description``."""
MAX_NOTES = 20_000
"""Characters of `SkillCard.notes`."""

# What no reader sees and a model reads: controls, lone surrogates, direction overrides, tag characters, non-characters.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\U000e0000-\U000e007f]"
)
_HEX64 = re.compile(r"[0-9a-f]{64}")
_HEX16 = re.compile(r"[0-9a-f]{16}")
_TOO_SHORT = 3  # characters of an answer that are no evidence of a leak
_TRIVIAL = frozenset(("yes", "no", "true", "false"))


@dataclass(frozen=True)
class SkillCard:
    """One lesson. Texts are kept in one form: the four of `CONTENT` and the title as a single line each.

    Attributes:
        description: What to do; not empty.
        trigger: When to do it.
        anti_pattern: What to avoid.
        query_template: A search to start from, with slots such as ``{entity}``.
        source: ``"hand"``, ``"bootstrap"`` or ``"failure"``.
        title: A short name for people; not part of the identity.
        category: A class of questions; not part of the identity.
        notes: Anything else, in Markdown, several lines; never shown to a model.
        created_step: Step of the run at which it was made, >= 0.
        question_sha256: `question_sha256` of the question that it was learnt from; "" for none.
        question: That question itself, where the run keeps questions.
        parents: Ids of the cards that it was made from.
    """

    description: str
    trigger: str = ""
    anti_pattern: str = ""
    query_template: str = ""
    source: Source = "hand"
    title: str = ""
    category: str = ""
    notes: str = ""
    created_step: int = 0
    question_sha256: str = ""
    question: str = ""
    parents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Puts the texts into their form.

        Raises:
            BadInput: A field is of the wrong type, too long, empty where it must not be, or holds hidden characters.
        """
        for name, most in LIMITS.items():
            object.__setattr__(self, name, one_line(name, getattr(self, name), most))
        for name in ("category", "question"):
            object.__setattr__(self, name, one_line(name, getattr(self, name), 2000))
        object.__setattr__(self, "notes", _lines("notes", self.notes, MAX_NOTES))
        settle(self, "created_step", whole, 0)
        if not any(char.isalpha() for char in self.description):
            raise BadInput(f"description must say what to do, in words; got {shown(self.description)}")
        if USE_WHEN in self.description:
            raise BadInput(f"description holds {USE_WHEN!r}; what follows it belongs into the field trigger")
        if len(self.public_description) > MAX_DESCRIPTION:
            raise BadInput(
                f"description and trigger have {len(self.public_description)} characters together; "
                f"a SKILL.md holds at most {MAX_DESCRIPTION}"
            )
        if self.source not in SOURCES:
            raise BadInput(f"source is one of {', '.join(SOURCES)}, got {shown(self.source)}")
        if self.question_sha256 != "" and not _is(_HEX64, self.question_sha256):
            raise BadInput(f"question_sha256 is 64 hex digits or empty, got {shown(self.question_sha256)}")
        if self.question and not self.question_sha256:
            object.__setattr__(self, "question_sha256", question_sha256(self.question))
        if isinstance(self.parents, str) or not isinstance(self.parents, (tuple, list)):
            raise BadInput(f"parents is a list of card ids, got {shown(self.parents)}")
        object.__setattr__(self, "parents", tuple(check_id(parent, "parents") for parent in self.parents))
        content = json.dumps([normal(getattr(self, name)) for name in CONTENT])
        object.__setattr__(self, "_id", hashlib.sha256(content.encode("utf-8")).hexdigest()[:16])

    @property
    def id(self) -> str:
        """16 hex digits of SHA-256 over the normal form of the content."""
        return str(self._id)  # type: ignore[attr-defined]

    @property
    def name(self) -> str:
        """The card's name as Agent Skills want it: a-z, 0-9 and hyphens, at most 64 characters."""
        plain = unicodedata.normalize("NFKD", self.title or self.description).encode("ascii", "ignore").decode().lower()
        slug = "-".join(re.findall("[a-z0-9]+", plain))[:48].strip("-")
        return f"{slug or 'skill'}-{self.id[:8]}"

    @property
    def public_description(self) -> str:
        """Description and trigger in one line."""
        return f"{self.description} {USE_WHEN} {self.trigger}" if self.trigger else self.description

    @property
    def text(self) -> str:
        """What is embedded: the content, without what only people read."""
        return " ".join(filter(None, (getattr(self, name) for name in CONTENT)))

    def texts(self) -> dict[str, str]:
        """Every free text of the card by field, for checks of what it gives away."""
        return {name: getattr(self, name) for name in (*CONTENT, "title", "category", "notes", "question")}

    def to_json(self) -> dict[str, Any]:
        """The card as a JSON object; what has its default is left out."""
        out = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        out["source"] = self.source
        if self.parents:
            out["parents"] = list(self.parents)
        return out

    @classmethod
    def from_json(cls, data: Any) -> SkillCard:
        """The inverse of `to_json`.

        Raises:
            BadInput: A field is unknown, missing or unusable; the message names it.
        """
        if not isinstance(data, Mapping):
            raise BadInput(f"a card is a JSON object, got {shown(data)}")
        known = {f.name for f in fields(cls)}
        if unknown := sorted(map(str, set(data) - known)):
            raise BadInput(f"unknown field {shown(unknown[0])}; a card has {', '.join(sorted(known))}")
        if "description" not in data:
            raise BadInput("field description is missing")
        return cls(**data)


def leaked(card: SkillCard, answers: str | Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Where a card gives an answer away.

    An answer leaks where its words stand in a field one after the other, as they are or in the normal form in which
    answers are scored ("The Beatles" is told by "Beatles", "U.S.A." by "usa"). Answers of fewer than 3 characters and
    yes/no/true/false are words like any other and are no leak.

    Args:
        card: The card.
        answers: The gold answer, or all of its forms.

    Returns:
        (field, answer) of each leak; empty for a clean card.
    """
    found = []
    forms = [answers] if isinstance(answers, str) else list(answers)
    for answer in forms:
        needles = [(form, needle) for form in (words, _scored) if _telling(needle := form(answer))]
        for field, text in card.texts().items():
            if any(needle in form(text) for form, needle in needles):
                found.append((field, answer))
    return tuple(found)


def _scored(text: str) -> str:
    return f" {normalise(text)} "


def _telling(needle: str) -> bool:
    return len(needle.strip()) >= _TOO_SHORT and needle.strip() not in _TRIVIAL


def check_id(value: Any, what: str = "id") -> str:
    """A card's id, never anything that could be a path.

    Raises:
        BadInput: It is not 16 hex digits.
    """
    if not _is(_HEX16, value):
        path = isinstance(value, str) and bool(re.search(r"[/\\\x00]|\.\.", value))
        raise BadInput(f"{what}: a card id is 16 hex digits, got {shown(value)}{' (a path)' if path else ''}")
    return str(value)


def check_digest(value: Any, what: str) -> str:
    """A `question_sha256`.

    Raises:
        BadInput: It is not 64 hex digits in lower case.
    """
    if not _is(_HEX64, value):
        raise BadInput(f"{what} is 64 hex digits, got {shown(value)}")
    return str(value)


def one_line(name: str, value: Any, most: int) -> str:
    """A text in one line: NFC, white space squeezed.

    Raises:
        BadInput: It is no text, holds hidden characters or more than `most` characters.
    """
    return " ".join(_checked(name, value, most).split())


def _lines(name: str, value: Any, most: int) -> str:
    text = _checked(name, value, most).replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _checked(name: str, value: Any, most: int) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{name} is a text, got {shown(value)}")
    if len(value) <= most:  # composing makes some characters into two, and what is kept must be read back
        value = unicodedata.normalize("NFC", value)
    if len(value) > most:
        raise BadInput(f"{name} has {len(value):,} characters, and at most {most:,} fit on a card")
    if found := _HIDDEN.search(value):
        raise BadInput(
            f"{name} holds the hidden character U+{ord(found[0]):04X} at position {found.start()}; remove it"
        )
    return value


def _is(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
