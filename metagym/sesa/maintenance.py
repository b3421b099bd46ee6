"""Consolidation: what the machine may give up, by rules that a report can name.

Nothing is deleted, and what a person wrote is never given up here. A card goes where it was used often enough and still
seldom helped (EvolveR prunes principles below 0.3), where it was not used for long, where it nearly repeats an older
one, or where the bank is over its cap.
"""

from __future__ import annotations

from dataclasses import dataclass

from metagym.checks import number, settle, whole
from metagym.errors import BadInput
from metagym.sesa.opposites import opposites
from metagym.sesa.skills import SkillBank
from metagym.sesa.state import BankEntry
from metagym.sesa.vectors import close_pairs


@dataclass(frozen=True)
class Upkeep:
    """Settings of `consolidate`.

    Attributes:
        min_uses: Uses from which a score counts, >= 1.
        min_score: `BankEntry.score` below which a card is retired, in [0, 1].
        unused_steps: Steps without a use after which a card is retired, >= 1; None for never.
        merge_at: Cosine from which active cards are merged, in (0, 1]; None for never. Only below the bank's own
            threshold does it find any.
        cap: Most active cards, >= 1; None for no cap. The SESA digests speak of 800.
    """

    min_uses: int = 8
    min_score: float = 0.3
    unused_steps: int | None = None
    merge_at: float | None = None
    cap: int | None = 800

    def __post_init__(self) -> None:
        """Checks the values."""
        settle(self, "min_uses", whole, 1)
        settle(self, "min_score", number, 0.0, 1.0)
        settle(self, "unused_steps", whole, 1, none=True)
        settle(self, "merge_at", number, 0.0, 1.0, none=True)
        settle(self, "cap", whole, 1, none=True)
        if self.merge_at == 0:
            raise BadInput("merge_at is above 0: at 0 every card is merged with every other")


@dataclass(frozen=True)
class Kept:
    """What a consolidation did.

    Attributes:
        retired: Ids of cards with a low score or without use.
        merged: (id that went, id that stayed).
        evicted: Ids of cards that went over the cap.
        over_cap: Active cards above the cap that are hand-written and stay.
    """

    retired: tuple[str, ...] = ()
    merged: tuple[tuple[str, str], ...] = ()
    evicted: tuple[str, ...] = ()
    over_cap: int = 0


def consolidate(bank: SkillBank, upkeep: Upkeep | None = None, step: int | None = None) -> Kept:
    """Retires, merges and evicts, in this order.

    Args:
        bank: The bank.
        upkeep: The rules.
        step: The present step, for `Upkeep.unused_steps`.

    Raises:
        BankReadOnly: The bank was opened for reading.
    """
    rules = upkeep or Upkeep()
    if rules.unused_steps is not None and step is None:
        raise BadInput("unused_steps needs the present step; hand in step=")
    with bank.exclusive():
        retired = [one for entry in _machine_made(bank) if (one := _retire(bank, entry, rules, step))]
        merged = _merge(bank, rules.merge_at) if rules.merge_at is not None else []
        evicted: list[str] = []
        over = 0
        if rules.cap is not None:
            excess = max(0, len(bank) - rules.cap)
            worst = sorted(_machine_made(bank), key=_worth)[:excess]
            for entry in worst:
                bank.retire(entry.card.id, f"over the cap of {rules.cap}, score {entry.score:.3f}", "evicted")
                evicted.append(entry.card.id)
            over = excess - len(worst)
    return Kept(tuple(retired), tuple(merged), tuple(evicted), over)


def _machine_made(bank: SkillBank) -> list[BankEntry]:
    return [entry for entry in bank.entries("active") if entry.card.source != "hand"]


def _worth(entry: BankEntry) -> tuple[float, int, int]:
    """Lowest first; of equal scores the one that was used longest ago, then the oldest."""
    last = -1 if entry.last_used_step is None else entry.last_used_step
    return entry.score, last, entry.seq


def _retire(bank: SkillBank, entry: BankEntry, rules: Upkeep, step: int | None) -> str:
    why = ""
    if entry.uses >= rules.min_uses and entry.score < rules.min_score:
        why = f"score {entry.score:.3f} after {entry.uses} uses"
    elif rules.unused_steps is not None and step is not None:
        last = entry.card.created_step if entry.last_used_step is None else entry.last_used_step
        if step - last >= rules.unused_steps:
            why = f"not used since step {last}"
    if why:
        bank.retire(entry.card.id, why)
    return entry.card.id if why else ""


def _merge(bank: SkillBank, merge_at: float) -> list[tuple[str, str]]:
    entries = bank.entries("active")
    rows = bank.vectors(entry.card.id for entry in entries)
    pairs = [(-score, other, one) for one, other, score in close_pairs(rows, rows, merge_at) if other < one]
    done: list[tuple[str, str]] = []
    for _, older, newer in sorted(pairs):
        left, right = bank.entry(entries[older].card.id), bank.entry(entries[newer].card.id)
        both_by_hand = left.card.source == right.card.source == "hand"
        if left.status == right.status == "active" and not both_by_hand and not opposites(left.card, right.card):
            stays = bank.merge(left.card.id, right.card.id)
            done.append((right.card.id if stays == left.card.id else left.card.id, stays))
    return done
