"""Corpora in JSON Lines files: read by byte offsets, never loaded whole."""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
import weakref
import zlib
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from metagym.errors import BadInput, NoTasks, StoreError
from metagym.spade.documents import Document
from metagym.strictjson import strict_json

TEXT_FIELDS = ("orig_doc", "text")
"""Where a line holds its document: the first that is there. ``orig_doc`` is what SPADE's and SPICE's files use."""

LONGEST_LINE = 64 << 20
"""Bytes of the longest line that is read."""

_SHORT = 500  # longer texts beside the document are no labels, and are left out of `Document.meta`
_KEPT_BAD = 20


class JsonlSource:
    """A JSON Lines file with one document a line, in ``orig_doc`` or ``text``.

    The file is read once from end to end when the source is made: every line is checked; its place, length, number and
    checksum (28 bytes) are kept, and its skill, nothing else. Blank lines are passed over. Other short fields become
    `Document.meta`; ``licence`` or ``license`` the licence, ``skill`` the skill.

    Args:
        path: The file.
        bad: ``error`` refuses a file with a bad line; ``skip`` leaves such lines out and counts them.

    Attributes:
        bad_lines: How many lines were left out.
        bad_examples: The first of them, each with file, line and reason.

    Raises:
        BadInput: The file is unreadable, or a line is bad; the message names file and line.
        NoTasks: There is no such file, or no document in it.
    """

    def __init__(self, path: str | os.PathLike[str], bad: Literal["error", "skip"] = "error") -> None:
        if bad not in ("error", "skip"):
            raise BadInput(f"bad is 'error' or 'skip', got {bad!r:.80}")
        self.path = os.fspath(path)
        self.name = f"jsonl:{self.path}"
        self.bad_lines = 0
        self.bad_examples: list[str] = []
        self._starts, self._sizes, self._sums, self._numbers = array("Q"), array("Q"), array("I"), array("Q")
        self._skills: dict[str, list[int]] = {}
        try:
            # Held, so that a file which is replaced stays readable; a pipe must not hold us.
            self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            raise NoTasks(f"the corpus {self.path} does not exist; name a JSON Lines file as jsonl:PATH") from None
        except (OSError, ValueError) as error:
            raise BadInput(f"the corpus {self.path!r} cannot be read: {_reason(error)}") from None
        self._close = weakref.finalize(self, os.close, self._fd)
        try:
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                raise BadInput(f"the corpus {self.path} is no regular file")
            self.fingerprint = self._scan(bad)
        except OSError as error:
            raise BadInput(f"the corpus {self.path} cannot be read: {_reason(error)}") from None
        finally:
            if not hasattr(self, "fingerprint") or not self._starts:
                self._close()
        if not self._starts:
            left_out = f" ({self.bad_lines} bad lines, e.g. {self.bad_examples[0]})" if self.bad_lines else ""
            raise NoTasks(f"the corpus {self.path} holds no document{left_out}")

    def __len__(self) -> int:
        """Number of documents."""
        return len(self._starts)

    def get(self, index: int) -> Document:
        """The document at a place, read from the file.

        Raises:
            StoreError: The file changed since it was opened, or the source was closed.
        """
        place = f"{self.path}:{self._numbers[index]}"
        try:
            line = os.pread(self._fd, self._sizes[index], self._starts[index]) if self._close.alive else b""
        except OSError as error:
            raise StoreError(f"{place} cannot be read: {_reason(error)}") from error
        if zlib.crc32(line) != self._sums[index]:
            raise StoreError(f"{place} changed since the corpus was opened, or it was closed; open it again")
        return document_of(line, place)

    def skills(self) -> Mapping[str, Sequence[int]]:
        """Places of the documents of each skill."""
        return self._skills

    def close(self) -> None:
        """Closes the file; a second call does nothing."""
        self._close()

    def _scan(self, bad: str) -> str:
        digest = hashlib.blake2b(digest_size=16)
        start = 0
        with open(self._fd, "rb", closefd=False) as lines:
            for number in itertools.count(1):
                if not (line := lines.readline(LONGEST_LINE + 1)):
                    break
                if len(line) > LONGEST_LINE:
                    raise BadInput(f"{self.path}:{number}: the line is longer than {LONGEST_LINE >> 20} MiB")
                digest.update(line)
                if line.strip():
                    self._take(line, start, number, bad)
                start += len(line)
        return digest.hexdigest()

    def _take(self, line: bytes, start: int, number: int, bad: str) -> None:
        try:
            document = document_of(line, f"{self.path}:{number}")
        except BadInput as error:
            if bad == "error":
                raise
            self.bad_lines += 1
            if len(self.bad_examples) < _KEPT_BAD:
                self.bad_examples.append(str(error))
            return
        skill = document.meta.get("skill")
        if isinstance(skill, str) and skill:
            self._skills.setdefault(skill, []).append(len(self._starts))
        self._starts.append(start)
        self._sizes.append(len(line))
        self._sums.append(zlib.crc32(line))
        self._numbers.append(number)


def document_of(line: str | bytes, place: str, licence: str = "") -> Document:
    """The document of one line.

    Args:
        line: JSON text.
        place: ``file:line``, for messages and `Document.source`.
        licence: Where the line names none.

    Raises:
        BadInput: It is no JSON object, or holds no document; the message begins with `place`.
    """
    try:
        row = strict_json(line)
    except ValueError as error:  # UnicodeDecodeError is one
        raise BadInput(f"{place}: the line is no JSON ({str(error):.200})") from None
    if not isinstance(row, dict):
        raise BadInput(f"{place}: the line is no JSON object")
    return document_in(row, place, licence)


def document_in(row: Mapping[str, Any], place: str, licence: str = "") -> Document:
    """The document of one row; see `document_of`.

    Raises:
        BadInput: Neither `TEXT_FIELDS` is a text with something in it.
    """
    for name in TEXT_FIELDS:
        text = row.get(name)
        if isinstance(text, str) and text.strip():
            break
    else:
        there = ", ".join(map(str, row)) or "nothing"
        raise BadInput(f"{place}: no text in {' or '.join(map(repr, TEXT_FIELDS))}; the row holds {there:.200}")
    named = row.get("licence") or row.get("license")
    meta = {key: value for key, value in row.items() if key not in TEXT_FIELDS and _is_label(value)}
    return Document.of(text, place, named if isinstance(named, str) else licence, meta)


def _is_label(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= _SHORT)


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
