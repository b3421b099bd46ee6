"""The turns of both seats, on `metagym.searching`: the tag that ends an episode is ``<answer>`` or ``<question>``.

A turn ends with its first action. Prompts and information blocks are text that the model did not write: `segments`
says which part is whose, and only the model's own parts may carry a training signal.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from metagym.answers import visible
from metagym.chat.layers import Layer
from metagym.chat.types import Reply, Request
from metagym.episodes import Episode
from metagym.searching import Segment, marks

Final = Literal["answer", "question"]
"""Tag of the text that ends an episode."""

STOPS = ("</search>", "</answer>", "</question>")
"""Where a turn ends; SSP stops at the first two as well."""

_NOTICE = (
    "\nNothing was done: no complete <search> or <{final}> stands outside the thinking. Write <search>words to look up"
    "</search> to search, or <{final}>...</{final}> to end.\n"
)
_LAST_NOTICE = "\nNo searches are left. End with <{final}>...</{final}>.\n"
_TAG = re.compile(r"<(search|answer|question)>(.*?)(</\1>|\Z)", re.DOTALL)


class Move(NamedTuple):
    """What a turn does: ``search``, ``answer``, ``question`` or ``none``, and the stripped text inside the tag."""

    kind: str
    text: str


def move_of(text: str | None, final: Final = "answer") -> Move:
    """The first complete action of a turn outside its thinking; an empty search or question is none.

    Args:
        text: What the model wrote; None for no reply.
        final: The tag beside ``<search>`` that means something here.
    """
    for found in _TAG.finditer(visible(text or "")):
        inside = found[2].strip()
        if found[3] and found[1] in ("search", final):
            return Move(found[1], inside) if inside or found[1] == "answer" else Move("none", "")
    return Move("none", "")


def tagged(move: Move) -> str:
    """A move as an agent writes it; "" for none."""
    return "" if move.kind == "none" else f"<{move.kind}> {move.text} </{move.kind}>"


def notice(final: Final) -> str:
    """What an agent reads after a turn without an action."""
    return _NOTICE.replace("{final}", final)


def last_notice(final: Final) -> str:
    """What an agent reads before the one turn that it has left."""
    return _LAST_NOTICE.replace("{final}", final)


def closed(text: str) -> str:
    """A turn up to the end of its first action; its closing tag is put back where a stop string took it.

    Tags inside thoughts are no action and are passed over.
    """
    found = _TAG.search(visible(text))
    if found is None:
        return text
    whole = text[: found.end()]
    return whole if found[3] else f"{whole}</{found[1]}>"


class Turnwise(Layer):
    """A chat model whose replies end with their first action: what it imagines after that never happened.

    It asks for the stop strings, cuts where a back end knows none, and gives back the closing tag that stopping took. A
    reply that ended at the token limit is left as it is: half an action is none.
    """

    async def chat(self, request: Request) -> Reply:
        """Answers one request."""
        reply = await self.inner.chat(dataclasses.replace(request, stop=STOPS))
        if reply.text is None or reply.cut or (ended := closed(reply.text)) == reply.text:
            return reply
        return dataclasses.replace(reply, text=ended)


def segments(episode: Episode) -> tuple[Segment, ...]:
    """An episode as segments, in order: the prompt (author ``notice``), then turns of the model and what came back."""
    out: list[Segment] = []
    for turn in episode.turns:
        out.append(_foreign(turn.observation))
        if turn.reply is not None:
            out.append(Segment("model", turn.reply))
    if episode.last_observation and episode.turns:
        out.append(_foreign(episode.last_observation))
    return tuple(out)


def _foreign(text: str) -> Segment:
    return Segment("information" if text.lstrip().startswith("<information>") else "notice", text)


def loss_mask(parts: Sequence[Segment], offsets: Iterable[tuple[int, int]]) -> list[int]:
    """Which tokens of the joined segments may carry a loss: 1 for the model's own, else 0.

    Args:
        parts: The segments; their texts joined are the text that was tokenized.
        offsets: (start, end) of each token in that text, as tokenizers give them.

    Returns:
        One number per token. A token that reaches into foreign text, or is empty, has 0.
    """
    owned: list[bool] = []
    for start, end, own in marks(parts):
        owned += [own] * (end - start)
    return [int(end > start and all(owned[start:end])) for start, end in offsets]
