"""The turns of an episode as pieces of text, and the two forms of them in a page: plain HTML and packed JSON.

Tens of thousands of turns stand in a report, so a turn costs as little as it can: closing tags that HTML makes
optional are left out, no element has a class (its name tells its kind), and what a reply repeats is not repeated. A
reply in the usual two lines, thought and action, gives the thought alone, for the action stands below it, and the
thought of the turn before gives an empty element, to which the style sheet says "as before". Any other reply that
holds more than its action is shown raw.

Packed turns are JSON, deflated and in base64. Both forms are drawn from the same pieces, and ``unpack.js`` builds the
elements that `plain` writes.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from metagym.episodes import Episode, Repair, Turn
from metagym.runs.report.text import visible

MAX_TEXT = 4_000
"""Characters of one observation or reply that are shown."""
MAX_TURNS = 300
"""Turns of one episode that are shown."""
KINDS = ("q", "pre", "kbd", "i", "small", "em")
"""Elements of a turn after its observation: thought, raw reply, action, absence of one, tag, tag of something wrong.

``unpack.js`` names the same ones in the same order.
"""

_THOUGHT, _REPLY, _ACTION, _ABSENCE, _TAG, _WRONG = range(len(KINDS))
_TWO_LINES = re.compile(r"\s*Thought: (.*\S)\s*\n\s*Action: (.*\S)\s*", re.DOTALL)
_REPAIRS = {
    Repair.REPAIRED: (_TAG, "repaired"),
    Repair.INVALID: (_WRONG, "unknown to the game"),
    Repair.ABSENT: (_WRONG, "no command in the reply"),
}

Pieces = list[Any]
"""One turn: its observation, then kind (an index of `KINDS`) and text in turn."""


def pieces(turn: Turn) -> Pieces:
    """What is shown of a turn; all text is bounded and made visible, and still to be escaped."""
    shown: Pieces = [visible(turn.observation, MAX_TEXT)]
    action = turn.action.strip()
    if turn.reply is not None and turn.reply.strip() != action:  # else the action says it all
        lines = _TWO_LINES.fullmatch(turn.reply)
        if lines and lines[2] == action:
            shown += [_THOUGHT, visible(lines[1], MAX_TEXT)]
        else:
            shown += [_REPLY, visible(turn.reply, MAX_TEXT)]
    if turn.action:
        shown += [_ACTION, visible(turn.action, 600)]
    else:
        why = "" if turn.absence is None else f": the model gave no answer ({visible(turn.absence, 40)})"
        shown += [_ABSENCE, f"no action{why}"]
    if turn.repair in _REPAIRS:
        shown += _REPAIRS[turn.repair]
    if turn.reward:
        shown += [_TAG, f"reward {turn.reward:+.2f}"]
    if turn.terminated or turn.truncated:
        shown += [_TAG, "terminated" if turn.terminated else "truncated"]
    return shown


def _sequence(turns: Iterable[Turn]) -> Iterator[Pieces]:
    """The pieces of consecutive turns; a thought that the turn before had too is empty."""
    before: str | None = None
    for turn in turns:
        shown, thought = pieces(turn), None
        if len(shown) > 1 and shown[1] == _THOUGHT:
            thought = shown[2]
            shown[2] = "" if thought == before else thought
        before = thought
        yield shown


def content(episode: Episode) -> dict[str, Any]:
    """What an episode opens to, as plain data: ``turns`` (each as of `pieces`), ``more``, ``last`` and ``note``."""
    usage = episode.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    return {
        "turns": list(_sequence(episode.turns[:MAX_TURNS])),
        "more": f"{episode.steps - MAX_TURNS} more turns" if episode.steps > MAX_TURNS else "",
        "last": visible(episode.last_observation, MAX_TEXT) or "(empty)",
        "note": f"{visible(episode.backend, 40)} model" + (f" · {tokens:,} tokens" if tokens else ""),
    }


def plain(turns: Iterable[Pieces]) -> str:
    """Turns as items of an ordered list, escaped."""
    parts: list[str] = []
    for turn in turns:
        parts += ("<li>", escape(turn[0], quote=False))
        for kind, text in zip(turn[1::2], turn[2::2], strict=True):
            name = KINDS[kind]
            # A newline right after <pre> is not part of its text.
            parts.append(f"<{name}>{chr(10) if kind == _REPLY else ''}{escape(text, quote=False)}</{name}>")
    return "".join(parts)


def pack(contents: Sequence[dict[str, Any]]) -> str:
    """The contents of several episodes as base64 of raw deflate (RFC 1951) of JSON in UTF-8.

    Episodes of one group share much of their text, so one pack of many takes a fraction of many packs of one. Base64
    holds no sign that means anything to HTML, whatever is in the pack.
    """
    text = json.dumps(contents, ensure_ascii=False, separators=(",", ":"))
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(deflate.compress(text.encode()) + deflate.flush()).decode("ascii")
