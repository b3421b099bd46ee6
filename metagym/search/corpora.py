"""Corpora: JSON lines in Search-R1's form, read, checked, and known by a digest of their content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from metagym.errors import BadInput
from metagym.search.types import Passage

_FORM = 'each line is {"id": ..., "contents": "\\"Title\\"\\ntext"} or {"id": ..., "title": ..., "text": ...}'


@dataclass(frozen=True)
class Corpus:
    """Passages, ordered by id whatever the order of the file, so that equal corpora give equal indexes.

    Attributes:
        passages: The passages, by id.
        name: How messages call it, e.g. the file's name.
    """

    passages: Sequence[Passage]
    name: str = "corpus"

    def __post_init__(self) -> None:
        """Orders the passages and checks that ids are unique."""
        ordered = tuple(sorted(self.passages, key=lambda passage: passage.id))
        if not ordered:
            raise BadInput(f"{self.name} holds no passage")
        for one, other in zip(ordered, ordered[1:], strict=False):
            if one.id == other.id:
                raise BadInput(f"{self.name} holds passage id {one.id!r} twice")
        object.__setattr__(self, "passages", ordered)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all ids and contents; order and spelling of the file's lines do not matter."""
        whole = hashlib.sha256()
        for passage in self.passages:
            for part in (passage.id, passage.contents):
                raw = part.encode("utf-8", "surrogatepass")
                whole.update(b"%d:" % len(raw) + raw)
        return whole.hexdigest()


def read_corpus(path: str | Path) -> Corpus:
    """Reads a corpus file.

    Args:
        path: JSON lines; further keys of a line are ignored, blank lines too.

    Raises:
        BadInput: The file cannot be read, a line is not of the form (the message names it), or two share an id.
    """
    path = Path(path)
    passages: list[Passage] = []
    seen: dict[str, int] = {}
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                passage = _passage(line, f"{path}, line {number}")
                if passage.id in seen:
                    raise BadInput(
                        f"{path}, line {number}: id {passage.id!r} stands in line {seen[passage.id]} already"
                    )
                seen[passage.id] = number
                passages.append(passage)
    except OSError as error:
        raise BadInput(f"the corpus {path} cannot be read: {error.strerror}; {_FORM}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"the corpus {path} is not UTF-8 ({error.reason} at byte {error.start})") from None
    if not passages:
        raise BadInput(f"the corpus {path} holds no passage; {_FORM}")
    return Corpus(passages, path.name)


def write_corpus(path: str | Path, passages: Iterable[Passage]) -> None:
    """Writes passages in Search-R1's form, e.g. for `metagym serve-search`.

    Raises:
        BadInput: The file cannot be written.
    """
    try:
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            for passage in passages:
                file.write(json.dumps({"id": passage.id, "contents": passage.contents}) + "\n")
    except OSError as error:
        raise BadInput(f"the corpus {path} cannot be written: {error.strerror}") from None


def passage_of(row: Any, where: str) -> Passage:
    """A passage from a JSON object.

    Args:
        row: ``id`` (text or whole number) and ``contents``, or ``title`` and ``text`` in its place.
        where: How the message calls it.

    Raises:
        BadInput: It is no such object.
    """
    if not isinstance(row, dict):
        raise BadInput(f"{where} is no JSON object: {_FORM}")
    name, contents = row.get("id"), row.get("contents")
    if isinstance(name, bool) or not isinstance(name, (str, int)) or name == "":
        raise BadInput(f"{where} lacks an id: {_FORM}")
    if contents is None and isinstance(row.get("title"), str) and isinstance(row.get("text"), str):
        contents = f'"{row["title"]}"\n{row["text"]}'
    if not isinstance(contents, str) or not contents.strip():
        raise BadInput(f"{where} lacks contents: {_FORM}")
    return Passage(str(name), contents)


def _passage(line: str, where: str) -> Passage:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where} is no JSON ({error}): {_FORM}") from None
    return passage_of(row, where)
