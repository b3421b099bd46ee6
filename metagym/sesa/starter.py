"""What a run primes its bank with: files, or hand-written cards of our own where it names none.

Ours say how to answer. How to search is left to be learnt from failures.
"""

from __future__ import annotations

from collections.abc import Sequence

from metagym.sesa.cards import SkillCard
from metagym.sesa.config import STARTER, SesaConfig
from metagym.sesa.importers import read_cards

STARTER_CARDS = (
    SkillCard(
        "Answer with the bare name, as short as it stands in the passage.",
        "The passages tell the answer.",
        "A whole sentence or an explanation inside the answer.",
        "{entity} {relation}",
        title="Bare names",
    ),
)
"""One card."""


def priming_cards(config: SesaConfig) -> tuple[Sequence[SkillCard], Sequence[SkillCard]]:
    """The hand-written and the mined cards of a run.

    Raises:
        BadInput: A file holds a card that cannot be used; the message names file, line and field.
        StoreError: A file cannot be read.
    """
    hand = STARTER_CARDS if config.hand == STARTER else _read(config.hand)
    return hand, _read(config.mined)


def _read(path: str | None) -> Sequence[SkillCard]:
    return () if path is None else read_cards(path).all_or_nothing()
