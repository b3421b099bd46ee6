"""Cards from elsewhere, and to elsewhere: SKILL.md folders, SkillRL's JSON, JSON Lines.

What is read is data of strangers: sizes are bounded, links are not followed, no name in a file becomes a path, and each
card that cannot be used is refused with file, line or place, and field. Nothing is left out silently: an unknown key at
the top of a SkillRL file is an error, since a whole class of skills went unused in the field over a misspelt one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from metagym.checks import shown
from metagym.errors import BadInput, StoreError
from metagym.journal import sync_folder
from metagym.sesa.cards import SOURCES, SkillCard
from metagym.sesa.files import read_bytes
from metagym.sesa.skillmd import MAX_BYTES, decoded, read_skill, write_skill
from metagym.strictjson import strict_json

Format = Literal["skill-md", "skillrl", "jsonl"]

FORMATS: tuple[str, ...] = get_args(Format)
"""What can be read and written."""

MAX_FILE_BYTES = 64 << 20
"""Of a JSON or JSON Lines file."""

_MAX_LINE = 1 << 20
_BLANKS = " \t\r\v\f"  # what else Python calls blank (U+001C, U+3000, ...) is no JSON and is told, not left out
_TYPED_KEYS = (
    "task_specific_skills",
    "query_type_skills",
)  # SkillRL's loader reads the first, its search file has both
_TOP = ("general_skills", *_TYPED_KEYS, "common_mistakes", "metadata")


@dataclass
class ImportReport:
    """What a reader found.

    Attributes:
        cards: The cards, each with the place where it stood.
        refused: One sentence for each card that cannot be used.
        remarks: What was read with tolerance.
    """

    cards: list[tuple[str, SkillCard]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def all_or_nothing(self) -> list[SkillCard]:
        """The cards, if none was refused.

        Raises:
            BadInput: Some were; the message is the first refusal and their number.
        """
        if self.refused:
            more = f" (and {len(self.refused) - 1} more)" if len(self.refused) > 1 else ""
            raise BadInput(self.refused[0] + more)
        return [card for _, card in self.cards]


def read_cards(path: str | os.PathLike[str], source: str | None = None) -> ImportReport:
    """Reads cards; the format follows from what stands at the path.

    Args:
        path: A ``SKILL.md``; a folder that holds one, or folders with one, or the ``*.md`` of a bank's ``cards``; a
            ``.jsonl`` of cards; or a ``.json`` of SkillRL.
        source: `SkillCard.source` of cards that do not tell theirs; by default ``"hand"``, and ``"bootstrap"`` for
            SkillRL's.

    Raises:
        BadInput: The file as a whole is not usable.
        StoreError: It cannot be read.
    """
    where = Path(path)
    if source is not None and source not in SOURCES:
        raise BadInput(f"source is one of {', '.join(SOURCES)}, got {shown(source)}")
    if where.is_dir() and not where.is_symlink():
        return _folder(where, source)
    if where.suffix == ".jsonl":
        return _jsonl(where, source)
    if where.suffix == ".json":
        return _skillrl(where, source or "bootstrap")
    if where.suffix == ".md":
        report = ImportReport()
        _skill_md(where, source, report)
        return report
    raise BadInput(f"{where} is no folder, .md, .jsonl or .json; cards are read from those")


# --- SKILL.md


def _folder(folder: Path, source: str | None) -> ImportReport:
    report = ImportReport()
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        raise StoreError(f"{folder} cannot be read: {error.strerror}") from error
    for name in names:
        path = folder / name
        if path.is_symlink():
            report.refused.append(f"{path} is a symbolic link; links are not followed")
        elif path.is_dir():
            inner = path / "SKILL.md"
            if inner.is_symlink():
                report.refused.append(f"{inner} is a symbolic link; links are not followed")
            elif inner.is_file():
                _skill_md(inner, source, report)
        elif path.suffix == ".md":
            _skill_md(path, source, report)
    if not report.cards and not report.refused:
        raise BadInput(f"{folder} holds no SKILL.md, neither itself nor in its folders")
    return report


def _skill_md(path: Path, source: str | None, report: ImportReport) -> None:
    try:
        found = read_skill(read_bytes(path, MAX_BYTES), str(path), source)
    except (BadInput, StoreError) as error:
        report.refused.append(str(error))
        return
    report.cards.append((str(path), found.card))
    report.remarks += found.remarks


# --- JSON Lines


def _jsonl(path: Path, source: str | None) -> ImportReport:
    report = ImportReport()
    text, remarks = decoded(read_bytes(path, MAX_FILE_BYTES), str(path), MAX_FILE_BYTES)
    report.remarks += remarks
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip(_BLANKS):
            continue
        place = f"{path}, line {number}"
        try:
            if len(line) > _MAX_LINE:
                raise BadInput(f"a card of {len(line):,} characters")
            try:
                data = strict_json(line)
            except ValueError as error:
                raise BadInput(f"no JSON ({error})") from None
            if isinstance(data, dict) and source is not None:
                data.setdefault("source", source)
            report.cards.append((place, SkillCard.from_json(data)))
        except BadInput as error:
            report.refused.append(f"{place}: {error}")
    if not report.cards and not report.refused:
        raise BadInput(f"{path} holds no card, only blank lines")
    return report


# --- SkillRL


def _skillrl(path: Path, source: str) -> ImportReport:
    text, remarks = decoded(read_bytes(path, MAX_FILE_BYTES), str(path), MAX_FILE_BYTES)
    try:
        data = strict_json(text)
    except ValueError as error:
        raise BadInput(f"{path} is no JSON ({error})") from None
    if not isinstance(data, dict):
        raise BadInput(f"{path} is no skill file of SkillRL: its top is {type(data).__name__}, not an object")
    if unknown := sorted(set(data) - set(_TOP)):
        raise BadInput(f"{path}: unknown top-level key {shown(unknown[0])}; a skill file has {', '.join(_TOP)}")
    report = ImportReport(remarks=list(remarks))
    for place, item in _items(data.get("general_skills", []), f"{path}: general_skills"):
        _take(report, place, lambda item=item: _principle(item, source, ""))
    for key in _TYPED_KEYS:
        kinds = data.get(key, {})
        if not isinstance(kinds, Mapping):
            raise BadInput(f"{path}: {key} is an object of lists, got {shown(kinds)}")
        for kind, items in kinds.items():
            for place, item in _items(items, f"{path}: {key}.{kind}"):
                _take(report, place, lambda item=item, kind=kind: _principle(item, source, kind))
    for place, item in _items(data.get("common_mistakes", []), f"{path}: common_mistakes"):
        _take(report, place, lambda item=item: _mistake(item, source))
    return report


def _items(items: Any, place: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(items, list):
        raise BadInput(f"{place} is a list, got {shown(items)}")
    return ((f"{place}[{number}]", item) for number, item in enumerate(items))


def _take(report: ImportReport, place: str, make: Any) -> None:
    try:
        report.cards.append((place, make()))
    except BadInput as error:
        report.refused.append(f"{place}: {error}")


def _principle(item: Any, source: Any, kind: str) -> SkillCard:
    known = ("skill_id", "title", "principle", "when_to_apply", "anti_pattern", "query_template")
    values = _texts(item, known, needed=("principle",))
    return SkillCard(
        description=values["principle"],
        trigger=values["when_to_apply"],
        anti_pattern=values["anti_pattern"],
        query_template=values["query_template"],
        title=values["title"],
        category=kind,
        source=source,
    )


def _mistake(item: Any, source: Any) -> SkillCard:
    known = ("mistake_id", "description", "why_it_happens", "how_to_avoid")
    values = _texts(item, known, needed=("description", "how_to_avoid"))
    why = f" Why it happens: {values['why_it_happens']}" if values["why_it_happens"] else ""
    return SkillCard(
        description=values["how_to_avoid"],
        anti_pattern=values["description"] + why,
        category="common_mistakes",
        source=source,
    )


def _texts(item: Any, known: Sequence[str], needed: Sequence[str]) -> dict[str, str]:
    if not isinstance(item, Mapping):
        raise BadInput(f"an item is an object, got {shown(item)}")
    if unknown := sorted(map(str, set(item) - set(known))):
        raise BadInput(f"unknown field {shown(unknown[0])}; an item has {', '.join(known)}")
    for name in known:
        if not isinstance(item.get(name, ""), str):
            raise BadInput(f"{name} is a text, got {shown(item[name])}")
    for name in needed:
        if not item.get(name, "").strip():
            raise BadInput(f"{name} is missing")
    return {name: item.get(name, "") for name in known}


# --- writing


def write_cards(cards: Iterable[SkillCard], path: str | os.PathLike[str], kind: str) -> int:
    """Writes cards to a place that does not exist yet.

    Args:
        cards: The cards.
        path: A new folder for ``"skill-md"``, a new file otherwise.
        kind: One of `FORMATS`. SkillRL's has no place for notes, sources, questions and parents.

    Returns:
        How many were written.

    Raises:
        BadInput: The place is taken, or the format unknown.
        StoreError: The disk refused it.
    """
    out, chosen = Path(path), list(cards)
    if kind not in FORMATS:
        raise BadInput(f"format is one of {', '.join(FORMATS)}, got {shown(kind)}")
    if os.path.lexists(out):
        raise BadInput(f"{out} exists already; an export overwrites nothing")
    try:
        if kind == "skill-md":
            out.mkdir(parents=True)
            for card in chosen:
                (out / card.name).mkdir()
                (out / card.name / "SKILL.md").write_text(write_skill(card), "utf-8", newline="\n")
        else:
            text = _as_jsonl(chosen) if kind == "jsonl" else _as_skillrl(chosen)
            out.write_text(text, "utf-8", newline="\n")
        sync_folder(os.fspath(out.parent))
    except OSError as error:
        raise StoreError(f"{out} cannot be written: {error.strerror}") from error
    return len(chosen)


def _as_jsonl(cards: Sequence[SkillCard]) -> str:
    return "".join(json.dumps(card.to_json(), ensure_ascii=False) + "\n" for card in cards)


def _as_skillrl(cards: Sequence[SkillCard]) -> str:
    out: dict[str, Any] = {"general_skills": [], "task_specific_skills": {}, "common_mistakes": []}
    for card in cards:
        item = {
            "skill_id": card.id,
            "title": card.title or card.name,
            "principle": card.description,
            "when_to_apply": card.trigger,
            **{name: text for name in ("anti_pattern", "query_template") if (text := getattr(card, name))},
        }
        if card.category == "common_mistakes" and not card.trigger and not card.query_template:
            mistake, _, why = card.anti_pattern.partition(" Why it happens: ")
            found = {"mistake_id": card.id, "description": mistake, "why_it_happens": why}
            out["common_mistakes"].append({**found, "how_to_avoid": card.description})
        elif card.category:
            out["task_specific_skills"].setdefault(card.category, []).append(item)
        else:
            out["general_skills"].append(item)
    return json.dumps(out, ensure_ascii=False, indent=2) + "\n"
