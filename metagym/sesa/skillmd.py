"""A card as a file: a valid ``SKILL.md`` of the Agent Skills format, made for people and for ``diff``.

Fields stand in a fixed order, line ends are LF, the body holds one sentence a line. `read_skill` reads what
`write_skill` wrote, and skills from elsewhere: what is no field of a card becomes its notes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from metagym.checks import shown
from metagym.errors import BadInput
from metagym.sesa.cards import SOURCES, USE_WHEN, SkillCard

MAX_BYTES = 64 * 1024
"""Of a SKILL.md; a card's texts have at most 26,000 characters."""

COUNTED = ("status", "uses", "wins", "last_used_step")
"""Metadata that change while a card stays the same."""

_MAX_DEPTH = 3
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_SENTENCE = re.compile(r"(?<=[.!?]) (?=\S)")
# Not printable to YAML, or invisible to people.
_ESCAPED = re.compile("[\x7f-\xa0\u2028\u2029\u200e\u200f\u061c\ufffe\uffff]")
_SECTIONS = {"avoid": "anti_pattern", "query template": "query_template", "notes": "notes"}


@dataclass(frozen=True)
class SkillFile:
    """What a SKILL.md holds.

    Attributes:
        card: The card.
        metadata: Its field ``metadata``.
        remarks: What was read with tolerance, in words.
    """

    card: SkillCard
    metadata: dict[str, str]
    remarks: tuple[str, ...] = ()


def write_skill(card: SkillCard, **metadata: str) -> str:
    """A card as the text of a SKILL.md.

    Args:
        card: The card.
        **metadata: Further entries of the field ``metadata``, e.g. ``uses="3"``.
    """
    facts = {"id": card.id, "source": card.source, "created_step": str(card.created_step)}
    optional = {
        "title": card.title,
        "category": card.category,
        "source_question_sha256": card.question_sha256,
        "question": card.question,
        "parents": " ".join(card.parents),
    }
    facts |= {key: value for key, value in optional.items() if value}
    facts |= metadata
    lines = ["---", f"name: {card.name}", f"description: {_quoted(card.public_description)}", "metadata:"]
    lines += [f"  {key}: {_quoted(value)}" for key, value in facts.items()]
    lines += ["---"]
    for heading, text in (("Avoid", card.anti_pattern), ("Query template", card.query_template)):
        if text:
            lines += ["", f"## {heading}", "", *map(_shielded, _SENTENCE.split(text))]
    if card.notes:
        lines += ["", "## Notes", "", card.notes]
    return "\n".join(lines) + "\n"


def content_of(text: str) -> str:
    """The text of a file of `write_skill` without what changes by use: equal for files of one card."""
    drop = tuple(f"  {key}: " for key in (*COUNTED, "replaced_by", "why", "source"))
    return "\n".join(line for line in text.split("\n") if not line.startswith(drop))


def read_skill(data: bytes, where: str, source: str | None = None) -> SkillFile:
    """Reads the bytes of a SKILL.md.

    Args:
        data: The bytes.
        where: How messages call the file.
        source: `SkillCard.source` where the file does not say it; ``"hand"`` by default.

    Raises:
        BadInput: It is no SKILL.md or holds what a card must not hold; the message names file, line and field.
    """
    text, remarks = decoded(data, where, MAX_BYTES)
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        raise BadInput(f"{where}, line 1: a SKILL.md begins with front matter between two lines ---")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise BadInput(f"{where}, line 1: the front matter is not closed by a line ---")
    front, at = _front_matter("\n".join(lines[1:end]), where)
    metadata = front.get("metadata", {})
    name, described = front.get("name"), front.get("description")
    if not isinstance(name, str) or not name:
        raise BadInput(f"{where}, line {at.get('name', 1)}: field name is missing")
    if len(name) > 64 or not _NAME.fullmatch(name):
        path = " (a path)" if re.search(r"[/\\]|\.\.", name) else ""
        raise BadInput(
            f"{where}, line {at['name']}: field name is at most 64 of a-z, 0-9 and single hyphens, "
            f"got {shown(name)}{path}"
        )
    if not isinstance(described, str) or not described.strip():
        raise BadInput(f"{where}, line {at.get('description', 1)}: field description is missing")
    description, _, trigger = " ".join(described.split()).partition(f" {USE_WHEN} ")
    body, starts = _body(lines[end + 1 :], end + 2)
    given = metadata.get("source", source or "hand")
    step = metadata.get("created_step", "0")
    if given not in SOURCES:
        raise BadInput(
            f"{where}, line {at['metadata']}: field source is one of {', '.join(SOURCES)}, got {shown(given)}"
        )
    if not step.isascii() or not step.isdigit() or len(step) > 18:
        raise BadInput(f"{where}, line {at['metadata']}: field created_step is a whole number, got {shown(step)}")
    try:
        card = SkillCard(
            description=description,
            trigger=trigger,
            source=given,
            title=metadata.get("title", ""),
            category=metadata.get("category", ""),
            created_step=int(step),
            question_sha256=metadata.get("source_question_sha256", ""),
            question=metadata.get("question", ""),
            parents=tuple(metadata.get("parents", "").split()),
            **body,
        )
    except BadInput as error:
        field = str(error).split(" ", 1)[0].rstrip(":")
        line = starts.get(field) or at.get(field) or at.get("metadata" if field in _IN_METADATA else "description", 1)
        raise BadInput(f"{where}, line {line}: field {error}") from None
    return SkillFile(card, metadata, remarks)


def decoded(data: bytes, where: str, most: int) -> tuple[str, tuple[str, ...]]:
    """Bytes from elsewhere as text with LF line ends, and what had to be tolerated.

    Raises:
        BadInput: They are empty, too many, no UTF-8 or hold NUL; the message names the place.
    """
    if not data:
        raise BadInput(f"{where} is empty (0 bytes)")
    if len(data) > most:
        raise BadInput(f"{where} has {len(data):,} bytes, and at most {most:,} are read")
    remarks = []
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        remarks.append(f"{where}: a byte order mark was passed over")
    if (place := data.find(b"\0")) >= 0:
        raise BadInput(f"{where}, line {data[:place].count(10) + 1}: a NUL byte; this is no text file")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{where}, line {data[: error.start].count(10) + 1}: not UTF-8 at byte {error.start}") from None
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        remarks.append(f"{where}: Windows line ends (CR LF) were read as LF")
    return text, tuple(remarks)


_IN_METADATA = frozenset(("title", "category", "question", "question_sha256", "parents", "source", "created_step"))


def _quoted(text: str) -> str:
    """A YAML double-quoted scalar, which a JSON text is one of."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _shielded(sentence: str) -> str:
    return "\\" + sentence if sentence[:1] in ("#", "\\") else sentence


def _body(lines: list[str], first: int) -> tuple[dict[str, str], dict[str, int]]:
    """Text of each section that a card knows, the rest as notes, and the line at which each begins."""
    parts: dict[str, list[str]] = {name: [] for name in _SECTIONS.values()}
    starts: dict[str, int] = {}
    current = "notes"
    for number, line in enumerate(lines, first):
        heading = re.fullmatch(r"#{1,3} +(.+?) *", line)
        section = _SECTIONS.get(heading[1].casefold()) if heading else None
        if section is not None and "notes" not in starts and section not in starts:
            current, starts[section] = section, number
            continue
        if heading and current != "notes":
            current = "notes"
        parts[current].append(line[1:] if current != "notes" and line.startswith("\\") else line)
    starts.setdefault("notes", first)
    return {name: "\n".join(part) if name == "notes" else " ".join(part) for name, part in parts.items()}, starts


def _front_matter(text: str, where: str) -> tuple[dict[str, Any], dict[str, int]]:
    """Fields and the lines at which they stand; every scalar is a text, as it is written."""
    import yaml  # type: ignore[import-untyped]

    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):  # event by event, since deep nesting costs minutes
            line = event.start_mark.line + 2
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise BadInput(
                    f"{where}, line {line}: the front matter is nested too deeply; it holds fields and texts"
                )
            if getattr(event, "anchor", None) is not None:
                raise BadInput(f"{where}, line {line}: the front matter holds an anchor or alias; write the text out")
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else 2
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not readable"
        raise BadInput(f"{where}, line {line}: the front matter is no YAML ({problem})") from None
    if not isinstance(tree, yaml.MappingNode):
        raise BadInput(f"{where}, line 2: the front matter is not made of fields")
    found: dict[str, Any] = {}
    at: dict[str, int] = {}
    for key, node in tree.value:
        line = key.start_mark.line + 2
        name = _scalar(key, where)
        if name in found:
            raise BadInput(f"{where}, line {line}: field {name} stands there twice")
        if name not in _FIELDS:
            raise BadInput(f"{where}, line {line}: unknown field {shown(name)}; a SKILL.md has {', '.join(_FIELDS)}")
        at[name] = line
        if name != "metadata":
            found[name] = _scalar(node, where)
            continue
        if not isinstance(node, yaml.MappingNode):
            raise BadInput(f"{where}, line {line}: field metadata is a map of texts")
        found[name] = {_scalar(inner, where): _scalar(value, where) for inner, value in node.value}
    return found, at


def _scalar(node: Any, where: str) -> str:
    value = node.value
    if not isinstance(value, str):
        raise BadInput(f"{where}, line {node.start_mark.line + 2}: a plain text is expected here")
    return value
