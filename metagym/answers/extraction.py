"""Finding the answer in a response: the last ``<answer>`` that the model itself wrote, outside its thinking.

Only the response counts. A scorer that reads prompt and response together must demand two tags where the prompt holds
an example, and then scores the example of any other prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

THINKING = "think"
INFORMATION = ("information", "observation", "tool_response")
"""Names of the blocks that hold what a search returned, in the prompt styles of Search-R1, SSP and verl."""
SPAM_TAGS = 10
"""More opening or closing answer tags than this, and SSP pays a fourth."""

_TAG = re.compile(rf"<(/?)({'|'.join((THINKING, *INFORMATION))})>")
_ANSWER = re.compile(r"<(/?)answer>")


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was found.

    Attributes:
        answer: Stripped content of the last answer tag; None without one ("" for an empty one).
        count: Complete answer tags.
        opening: Opening tags, complete or not.
        closing: Closing tags.
    """

    answer: str | None
    count: int
    opening: int
    closing: int

    @property
    def spam(self) -> bool:
        """Whether there are more than `SPAM_TAGS` opening or closing tags."""
        return max(self.opening, self.closing) > SPAM_TAGS


def visible(response: str) -> str:
    """A response with its thinking and all information blocks blanked out, at equal length.

    Thinking that is never closed runs to the end; one that is never opened began before the response (prompts may end
    with ``<think>``). The same goes for information blocks, but for a stray closing tag, which closes nothing.
    """
    out: list[str] = []
    at, inside = 0, ""
    for tag in _TAG.finditer(response):
        closing, name = tag[1] == "/", tag[2]
        if inside:
            if not (closing and name == inside):
                continue
            out.append(" " * (tag.end() - at))
            at, inside = tag.end(), ""
        elif not closing:
            out.append(response[at : tag.start()])
            at, inside = tag.start(), name
        elif name == THINKING:  # opened before the response: all so far was thinking
            out = [" " * tag.end()]
            at = tag.end()
    out.append(" " * (len(response) - at) if inside else response[at:])
    return "".join(out)


def extract(response: str | Iterable[str]) -> Extracted:
    """The last answer of a response.

    Args:
        response: What the model wrote; several pieces (its turns, without what stood between them) are read one by
            one, so that no tag begins in one and ends in another.
    """
    answer: str | None = None
    count = opening = closing = 0
    for piece in (response,) if isinstance(response, str) else response:
        text, start = visible(piece), -1
        for tag in _ANSWER.finditer(text):
            if tag[1]:
                closing += 1
                if start >= 0:
                    answer, start = text[start : tag.start()].strip(), -1
                    count += 1
            else:
                opening += 1
                start = tag.end()
    return Extracted(answer, count, opening, closing)
