"""The turns of a searching agent: ``<search>``, ``<answer>``, ``<question>``, and the information that comes back.

The form is Search-R1's: a turn ends with one tag, and what was searched for comes back in an ``<information>`` block.
That block, like every prompt, is text that the model did not write: `segments` says which part is whose, and only the
model's own parts may carry a training signal. Passages are shown without anything that reads as a tag, so that no
passage can close the block, answer, or pose as a part of the prompt.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from metagym.chat.layers import Layer
from metagym.chat.types import Reply, Request
from metagym.episodes import Episode
from metagym.search import Hit
from metagym.sesa.retrieval import escaped

Kind = Literal["search", "answer", "question", "none"]
Writer = Literal["prompt", "model", "environment"]

STOPS = ("</search>", "</answer>", "</question>")
"""Where a turn ends; SSP stops at the first two as well."""

INVALID = (
    "That turn held neither a search nor an answer, so nothing happened. Write a query between <search> and </search>, "
    "or the final text between {tags}."
)
NO_RESULTS = "No search results found."
MAX_TEXT = 4_000
"""Most characters of one information block; Search-R1 cuts it at 500 tokens, three passages have about 1,700."""
MAX_TURN = 20_000
"""Most characters of a turn that are read."""

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(search|answer|question)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)


class Move(NamedTuple):
    """What a turn does: its kind and the text inside the tag, white space squeezed at both ends."""

    kind: Kind
    text: str


def spoken(text: str) -> str:
    """A turn without its thoughts: what stands in ``<think>`` is never an action."""
    text = text[:MAX_TURN]
    head, mark, tail = text.rpartition("</think>")
    if mark and "<think>" not in head:  # the opening tag stood in the prompt
        text = tail
    return _THOUGHT.sub("", text)


def move_of(text: str | None, kinds: Sequence[str] = ("search", "answer")) -> Move:
    """The action of a turn: that of its first tag; of several answers the last one counts.

    A tag that the end of the text cuts off counts as closed, since servers cut at stop strings.

    Args:
        text: What the model wrote; None for no reply.
        kinds: Tags that mean something here.
    """
    found = [(m[1].lower(), m[2].strip()) for m in _TAG.finditer(spoken(text or "")) if m[1].lower() in kinds]
    if not found or not found[0][1]:
        return Move("none", "")
    kind, inside = found[0]
    if kind == "answer":
        inside = [content for name, content in found if name == kind][-1]
    return Move(kind, inside)  # type: ignore[arg-type]


def tagged(move: Move) -> str:
    """A move as an agent writes it; "" for none."""
    return "" if move.kind == "none" else f"<{move.kind}> {move.text} </{move.kind}>"


def invalid_turn(final: str = "answer") -> str:
    """What an agent reads after a turn without an action."""
    return INVALID.replace("{tags}", f"<{final}> and </{final}>")


def information(hits: Iterable[Hit], limit: int = MAX_TEXT) -> str:
    """The block in which search results come back.

    Args:
        hits: Best first.
        limit: Most characters of the passages; what is longer is cut, and the cut is marked.
    """
    shown = [
        f"Doc {number} (Title: {escaped(hit.passage.plain_title)})\n{escaped(hit.passage.text)}\n\n"
        for number, hit in enumerate(hits, 1)
    ]
    body = "".join(shown) or f"{NO_RESULTS}\n"
    if len(body) > limit:
        body = body[:limit] + " [...]\n"
    return f"\n<information>\n{body}</information>\n\n"


class Turnwise(Layer):
    """A chat model whose replies end with their first action: what it imagines after that never happened.

    It asks for the stop strings, cuts where a back end knows none, and gives back the closing tag that stopping took.
    """

    async def chat(self, request: Request) -> Reply:
        """Answers one request."""
        reply = await self.inner.chat(dataclasses.replace(request, stop=STOPS))
        text = reply.text
        if text is None or (ended := closed(text)) == text:
            return reply
        return dataclasses.replace(reply, text=ended)


def closed(text: str) -> str:
    """A turn up to the end of its first action; its closing tag is put back where a stop string took it.

    Tags inside thoughts are no action and are passed over; a cut reply without a stop string looks the same and is read
    the same way.
    """
    at = 0
    while found := _TAG.search(text, at):
        before = text[: found.start()]
        if before.count("<think>") > before.count("</think>"):
            at = found.start() + 1
            continue
        whole = found[0]
        return before + (whole if whole.lower().endswith(f"</{found[1].lower()}>") else f"{whole}</{found[1]}>")
    return text


@dataclass(frozen=True)
class Segment:
    """A part of a transcript.

    Attributes:
        text: The text.
        writer: ``prompt`` (question and skills), ``environment`` (information, refusals) or ``model``.
    """

    text: str
    writer: Writer

    @property
    def trained(self) -> bool:
        """Whether its tokens may carry a training signal: the model's own alone."""
        return self.writer == "model"


def segments(episode: Episode) -> tuple[Segment, ...]:
    """An episode as segments, in order: the prompt, then turns of the model and what came back."""
    out = []
    for number, turn in enumerate(episode.turns):
        out.append(Segment(turn.observation, "environment" if number else "prompt"))
        if turn.reply is not None:
            out.append(Segment(turn.reply, "model"))
    if episode.last_observation and episode.turns:
        out.append(Segment(episode.last_observation, "environment"))
    return tuple(out)


def loss_mask(parts: Sequence[Segment], offsets: Iterable[tuple[int, int]]) -> list[int]:
    """Which tokens of the joined segments may carry a loss: 1 for the model's own, else 0.

    Args:
        parts: The segments; their texts joined are the text that was tokenized.
        offsets: (start, end) of each token in that text, as tokenizers give them.

    Returns:
        One number per token. A token that reaches into foreign text, or is empty, has 0.
    """
    owners: list[bool] = []
    for part in parts:
        owners += [part.trained] * len(part.text)
    return [int(end > start and all(owners[start:end])) for start, end in offsets]
