"""Filling a bank before the first round: what people wrote first, then what was mined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from metagym.errors import BadInput
from metagym.sesa.cards import SkillCard
from metagym.sesa.dedup import Added, Duplicate, Refused
from metagym.sesa.importers import read_cards
from metagym.sesa.skills import SkillBank


@dataclass(frozen=True)
class Primed:
    """What priming did; cards in the bank afterwards = those before + hand + mined.

    Attributes:
        hand: Ids of hand-written cards that are new.
        mined: Ids of mined cards that are new.
        duplicates: Cards that were known already.
        refused: Cards from evaluation questions.
    """

    hand: tuple[str, ...] = ()
    mined: tuple[str, ...] = ()
    duplicates: int = 0
    refused: int = 0


def prime(
    bank: SkillBank,
    hand: Iterable[SkillCard] | str | Path = (),
    mined: Iterable[SkillCard] | str | Path = (),
) -> Primed:
    """Adds hand-written cards (source ``"hand"``), then mined ones (source ``"bootstrap"``).

    A second time changes nothing. Hand-written cards win over mined near copies, whichever came first.

    Args:
        bank: The bank.
        hand: Cards, or a file or folder that `metagym.sesa.importers.read_cards` reads.
        mined: Likewise.

    Raises:
        BadInput: A file holds a card that cannot be used; the message names file, line and field; nothing is added.
        BankReadOnly: The bank was opened for reading.
    """
    by_hand = [replace(card, source="hand") for card in _cards(hand)]
    parts = [by_hand, [replace(card, source="bootstrap") for card in _cards(mined)]]
    with bank.exclusive():
        outcomes = [bank.add_many(part) for part in parts]
    flat = [outcome for part in outcomes for outcome in part]
    new = [tuple(outcome.id for outcome in part if isinstance(outcome, Added)) for part in outcomes]
    return Primed(
        hand=new[0],
        mined=new[1],
        duplicates=sum(isinstance(outcome, Duplicate) for outcome in flat),
        refused=sum(isinstance(outcome, Refused) for outcome in flat),
    )


def _cards(given: Iterable[SkillCard] | str | Path) -> Sequence[SkillCard]:
    if isinstance(given, (str, Path)):
        return read_cards(given).all_or_nothing()
    cards = list(given)
    for card in cards:
        if not isinstance(card, SkillCard):
            raise BadInput(f"priming takes SkillCards or a path, got {type(card).__name__}")
    return cards
