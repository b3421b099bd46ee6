"""From a question to the block of skills in the solver's prompt.

The block is data that others wrote: each text stands in one line of its own, and whatever looks like a tag of a prompt
(``</skills>``, ``<answer>``, ``<|im_end|>``) is shown with ``&lt;``, so that a card can neither close the block nor
pose as a part of the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from metagym.checks import whole
from metagym.sesa.cards import SkillCard
from metagym.sesa.snapshots import FoundCard

RETRIEVE_K = 3
"""Cards per question, as EvolveR retrieves."""

_TAG = re.compile(r"<(?=\s*(?:[/!?|\w]|\Z))")
_HEAD = "<skills>\nLessons from earlier searches; use those that fit.\n"
_TAIL = "</skills>\n"


class Searchable(Protocol):
    """A bank or a snapshot of one."""

    def search(self, query: str, k: int) -> tuple[FoundCard, ...]:
        """The nearest active cards."""
        ...


@dataclass(frozen=True)
class SkillBlock:
    """What goes into a prompt.

    Attributes:
        text: The block; "" where no card was found or fits, so that the prompt is that of a solver without skills.
        ids: Ids of the cards in it, by falling score.
        dropped: Ids of the cards that did not fit, by falling score.
    """

    text: str = ""
    ids: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def estimated_tokens(text: str) -> int:
    """A rough count of tokens for a block that no tokenizer has seen: 4 characters each, rounded up."""
    return -(-len(text) // 4)


def escaped(text: str) -> str:
    """A text of a card as prompts show it: without anything that reads as a tag."""
    return _TAG.sub("&lt;", text)


def shown_card(number: int, card: SkillCard) -> str:
    """One card of the block: its content, a line each."""
    parts = (
        (f"[{number}] ", card.description),
        ("    Use when: ", card.trigger),
        ("    Avoid: ", card.anti_pattern),
        ("    Query template: ", card.query_template),
    )
    return "".join(f"{head}{escaped(text)}\n" for head, text in parts if text)


def skill_block(
    found: Sequence[FoundCard],
    max_skill_tokens: int | None = None,
    count_tokens: Callable[[str], int] = estimated_tokens,
) -> SkillBlock:
    """Writes the block of the found cards.

    Args:
        found: By falling score, as a search gives them.
        max_skill_tokens: Most tokens of the block; the lowest-ranked cards are left out as a whole, never cut. None for
            no limit.
        count_tokens: Counts the tokens of a text.
    """
    if max_skill_tokens is not None:
        whole("max_skill_tokens", max_skill_tokens, 0)
    kept = list(found)
    while kept:
        text = _HEAD + "".join(shown_card(number, one.card) for number, one in enumerate(kept, 1)) + _TAIL
        if max_skill_tokens is None or count_tokens(text) <= max_skill_tokens:
            ids = tuple(one.card.id for one in found)
            return SkillBlock(text, ids[: len(kept)], ids[len(kept) :])
        kept.pop()
    return SkillBlock(dropped=tuple(one.card.id for one in found))


@dataclass(frozen=True)
class SkillRetriever:
    """Question in, block out; it reads only.

    Attributes:
        bank: A bank or a snapshot; None for a solver without skills.
        k: Cards per question, >= 0.
        max_skill_tokens: As for `skill_block`.
        count_tokens: As for `skill_block`.
    """

    bank: Searchable | None
    k: int = RETRIEVE_K
    max_skill_tokens: int | None = None
    count_tokens: Callable[[str], int] = estimated_tokens

    def __post_init__(self) -> None:
        """Checks the numbers."""
        whole("k", self.k, 0)
        if self.max_skill_tokens is not None:
            whole("max_skill_tokens", self.max_skill_tokens, 0)

    def block(self, question: str) -> SkillBlock:
        """The block for a question."""
        if self.bank is None or self.k == 0:
            return SkillBlock()
        return skill_block(self.bank.search(question, self.k), self.max_skill_tokens, self.count_tokens)
