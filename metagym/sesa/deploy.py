"""How a trained solver is deployed: ``off`` without a bank, ``on`` with it, ``placebo`` with text of no use.

The placebo puts text of exactly the same length into the same frame, on matters that have nothing to do with searching.
What it gains is the gain of a longer prompt; only what ``on`` gains beyond it comes from what the cards say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from metagym.errors import BadInput
from metagym.seeding import rng
from metagym.sesa.retrieval import RETRIEVE_K, Searchable, SkillBlock, SkillRetriever

Deployment = Literal["off", "on", "placebo"]
DEPLOYMENTS: tuple[str, ...] = get_args(Deployment)

_CONTENT = re.compile(r"^(\[\d+\] |    (?:Use when|Avoid|Query template): )(.*)$", re.MULTILINE)
_SENTENCES = (
    "Water the ferns early in the morning, before the sun stands high.",
    "A loaf wants to rest for an hour under a damp cloth.",
    "Store onions in a dry and airy place, away from potatoes.",
    "Oil the hinge of the garden gate once a year.",
    "Wool shrinks in hot water, so wash it by hand.",
    "Turn the mattress each spring and let the room air.",
    "A blunt knife slips more easily than a sharp one.",
    "Stir the porridge slowly and add the salt at the end.",
    "Hang the laundry in the shade if its colours are bright.",
    "Plant the bulbs twice as deep as they are tall.",
    "Let the paint dry overnight before the second coat.",
    "Candles burn longer when they have been kept cool.",
)


class Blocks(Protocol):
    """Question in, block of skills out."""

    def block(self, question: str) -> SkillBlock:
        """The block for a question."""
        ...


def filler(length: int, seed: int) -> str:
    """Text of exactly `length` characters that is of no use to a search."""
    draw, text = rng(seed, "placebo"), ""
    while len(text) < length:
        text += ("" if not text else " ") + draw.choice(_SENTENCES)
    text = text[:length]
    return text[:-1] + "." if text.endswith(" ") else text


def placebo_block(block: SkillBlock, seed: int = 0) -> SkillBlock:
    """A block of the same frame and length, character for character, whose content is unrelated.

    Args:
        block: What the solver would be shown.
        seed: Decides the sentences.
    """
    number = 0

    def other(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        return found[1] + filler(len(found[2]), seed + number)

    return SkillBlock(_CONTENT.sub(other, block.text), tuple(f"placebo:{id_}" for id_ in block.ids), block.dropped)


@dataclass(frozen=True)
class PlaceboRetriever:
    """Finds cards as `inner` does and shows text of equal length in their place."""

    inner: SkillRetriever
    seed: int = 0

    def block(self, question: str) -> SkillBlock:
        """The block for a question."""
        return placebo_block(self.inner.block(question), self.seed)


def retriever_for(
    deployment: str,
    bank: Searchable | None,
    k: int = RETRIEVE_K,
    max_skill_tokens: int | None = None,
    seed: int = 0,
) -> Blocks:
    """What gives the solver its skills.

    Args:
        deployment: ``off``, ``on`` or ``placebo``.
        bank: A bank or a snapshot; never looked at by ``off``.
        k: Cards per question.
        max_skill_tokens: Most tokens of a block.
        seed: Of the placebo's sentences.

    Raises:
        BadInput: There is no such deployment, or it needs a bank.
    """
    if deployment not in DEPLOYMENTS:
        raise BadInput(f"a deployment is one of {', '.join(DEPLOYMENTS)}, got {deployment!r:.60}")
    if deployment == "off":
        return SkillRetriever(None)
    if bank is None:
        raise BadInput(f"the deployment {deployment!r} reads a skill bank, and none was named (--bank)")
    inner = SkillRetriever(bank, k, max_skill_tokens)
    return inner if deployment == "on" else PlaceboRetriever(inner, seed)
