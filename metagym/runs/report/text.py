"""Text that nobody has read, made safe to show: bounded, visible, and compared line by line.

Escaping is the templates' work (autoescape is on everywhere); what is done here is what escaping does not do: control
characters, direction overrides and lone surrogates become visible signs, and length is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Op = Literal[" ", "+", "-", "…"]

CONTEXT = 2
"""Unchanged lines that are shown before and after a change."""
MAX_REWRITTEN = 40
"""Longest stretch of rewritten lines whose words are compared; beyond it the whole text is new."""
MAX_DIFF_LINES = 400
"""Lines of a prompt that are compared; the comparison takes quadratic time at worst."""

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069\ufeff\ufff0-\ufffb\ufffe\uffff\ud800-\udfff]"
)
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True)
class Part:
    """A piece of a line; `changed` where the other version has no such words."""

    text: str
    changed: bool = False


@dataclass(frozen=True)
class Line:
    """One line of a diff: kept (`` ``), added (``+``), removed (``-``) or a note on what is left out (``…``)."""

    op: Op
    parts: tuple[Part, ...]


def visible(text: str, limit: int) -> str:
    """The text as it may be shown: at most `limit` characters (and a note), with hidden characters as visible signs."""
    shown = text[:limit]
    shown = _CONTROL.sub(_sign, shown.replace("\r\n", "\n"))
    if len(text) > limit:
        shown += f"… [{len(text) - limit:,} more characters]"
    return shown


def diff(old: str, new: str, limit: int) -> list[Line]:
    """The lines of `new` and, between them, those of `old` that it lost; of long unchanged stretches only the ends.

    Args:
        old: The earlier prompt.
        new: The later prompt.
        limit: Characters of each that are compared.
    """
    before, after = _lines(old, limit), _lines(new, limit)
    lines: list[Line] = []
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += _kept(after[k:m], k == 0, m == len(after))
        elif tag == "replace" and j - i == m - k <= MAX_REWRITTEN:
            for left, right in zip(before[i:j], after[k:m], strict=True):
                lines += _changed(left, right)
        else:
            lines += [Line("-", (Part(text),)) for text in before[i:j]]
            lines += [Line("+", (Part(text),)) for text in after[k:m]]
    return lines


def as_lines(text: str, limit: int) -> list[Line]:
    """A text that has no earlier version, in the form of a diff."""
    return [Line(" ", (Part(line),)) for line in _lines(text, limit)]


def _kept(texts: list[str], first: bool, last: bool) -> list[Line]:
    lines = [Line(" ", (Part(text),)) for text in texts]
    head, tail = (0 if first else CONTEXT), (0 if last else CONTEXT)
    hidden = len(lines) - head - tail
    if hidden < 2 or (first and last):
        return lines
    note = Line("…", (Part(f"{hidden} unchanged lines"),))
    return [*lines[:head], note, *lines[len(lines) - tail :]]


def _lines(text: str, limit: int) -> list[str]:
    lines = visible(text, limit).split("\n") if text else []
    if len(lines) > MAX_DIFF_LINES:
        lines = [*lines[:MAX_DIFF_LINES], f"… [{len(lines) - MAX_DIFF_LINES:,} more lines]"]
    return lines


def _changed(left: str, right: str) -> Iterator[Line]:
    """A rewritten line twice, its new and old words marked; quite different lines are not matched word by word."""
    old, new = _WORD.findall(left), _WORD.findall(right)
    if max(len(old), len(new)) <= 150:
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        if matcher.quick_ratio() >= 0.4 <= matcher.ratio():
            gone: list[Part] = []
            come: list[Part] = []
            for tag, i, j, k, m in matcher.get_opcodes():
                if j > i:
                    gone.append(Part("".join(old[i:j]), tag != "equal"))
                if m > k:
                    come.append(Part("".join(new[k:m]), tag != "equal"))
            yield Line("-", tuple(gone))
            yield Line("+", tuple(come))
            return
    yield Line("-", (Part(left),))
    yield Line("+", (Part(right),))


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures, e.g. the sign for NUL
    return f"⟨U+{code:04X}⟩"
