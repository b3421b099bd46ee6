"""The turns of both seats, on `metagym.searching`: the tag that ends an episode is ``<answer>`` or ``<question>``.

A turn ends with its first action. Prompts and information blocks are text that the model did not write: `segments`
says which part is whose, and only the model's own parts may carry a training signal.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from metagym.answers import visible
from metagym.chat.layers import Layer
from metagym.chat.types import ChatModel, Reply, Request
from metagym.episodes import Episode
from metagym.searching import Segment, marks

Final = Literal["answer", "question"]
"""Tag of the text that ends an episode."""

_NOTICE = (
    "\nNothing was done: no complete <search> or <{final}> stands outside the thinking. Write <search>words to look up"
    "</search> to search, or <{final}>...</{final}> to end.\n"
)
_LAST_NOTICE = "\nNo searches are left. End with <{final}>...</{final}>.\n"
_TAG = re.compile(r"<(search|answer|question)>")


class Move(NamedTuple):
    """What a turn does: ``search``, ``answer``, ``question`` or ``none``, and the stripped text inside the tag."""

    kind: str
    text: str


def _actions(text: str, final: Final) -> Iterator[tuple[str, int, int, int]]:
    """The actions of a turn outside of its thinking: name, start and end of the inside, end of the whole.

    A tag that is never closed is passed over, unless it is the last: a stop string may have taken its end.
    """
    seen = visible(text)
    openings = [tag for tag in _TAG.finditer(seen) if tag[1] in ("search", final)]
    ends = {name: seen.rfind(f"</{name}>") for name in ("search", final)}
    for at, tag in enumerate(openings):
        if ends[tag[1]] >= tag.end():
            end = seen.index(f"</{tag[1]}>", tag.end())
            yield tag[1], tag.end(), end, end + len(tag[1]) + 3
        elif at + 1 == len(openings) and seen[tag.end() :] == text[tag.end() :]:
            yield tag[1], tag.end(), len(text), len(text)


def move_of(text: str | None, final: Final = "answer") -> Move:
    """The first complete action of a turn outside its thinking; an empty search or question is none.

    Args:
        text: What the model wrote; None for no reply.
        final: The tag beside ``<search>`` that means something here.
    """
    text = text or ""
    for name, start, end, whole in _actions(text, final):
        inside = text[start:end].strip()
        if whole > end:
            return Move(name, inside) if inside or name == "answer" else Move("none", "")
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


def closed(text: str, final: Final = "answer") -> str:
    """A turn up to the end of its first action; its closing tag is put back where a stop string took it.

    Tags inside thoughts are no action and are passed over.
    """
    for name, _, end, whole in _actions(text, final):
        return text[:whole] if whole > end else f"{text}</{name}>"
    return text


class Turnwise(Layer):
    """A chat model whose replies end with their first action: what it imagines after that never happened.

    It asks for the closing tags as stop strings, as SSP does, cuts where a back end knows none, and gives back the tag
    that stopping took. A reply that ended at the token limit is left as it is: half an action is none.

    Args:
        inner: The model.
        final: The tag beside ``<search>`` that ends a turn.
    """

    def __init__(self, inner: ChatModel, final: Final) -> None:
        super().__init__(inner)
        self.final: Final = final

    async def chat(self, request: Request) -> Reply:
        """Answers one request."""
        reply = await self.inner.chat(dataclasses.replace(request, stop=("</search>", f"</{self.final}>")))
        if reply.text is None or reply.cut or (ended := closed(reply.text, self.final)) == reply.text:
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
