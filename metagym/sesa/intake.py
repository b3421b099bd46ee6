"""Taking imported cards into a bank, and counting what a bank holds."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from metagym.errors import DeniedCard
from metagym.sesa.cards import SkillCard
from metagym.sesa.dedup import Added, Duplicate
from metagym.sesa.importers import ImportReport
from metagym.sesa.skills import SkillBank
from metagym.sesa.state import STATUSES
from metagym.sesa.views import card_file

_OWN = re.compile(r"([0-9a-f]{16})\.md")


@dataclass(frozen=True)
class TakenIn:
    """What an import did.

    Attributes:
        added: New cards.
        replaced: Cards of the bank that gave way to an edited file of theirs.
        known: Cards that were known already.
        refused: Cards that cannot be used or come from evaluation questions.
    """

    added: int = 0
    replaced: int = 0
    known: int = 0
    refused: int = 0


def take_in(bank: SkillBank, report: ImportReport) -> TakenIn:
    """Adds the cards of a report.

    A file ``<id>.md`` whose card is in the bank with another content is a person's edit: its text becomes a new,
    hand-written card and the old one gives way to it.

    Args:
        bank: The bank.
        report: What a reader found.
    """
    counts: Counter[str] = Counter(refused=len(report.refused))
    fresh: list[SkillCard] = []
    with bank.exclusive():
        for place, card in report.cards:
            own = _OWN.fullmatch(Path(place).name)
            if own and own[1] in bank and own[1] != card.id:
                try:
                    edited = bank.replace(own[1], card)
                except DeniedCard:
                    counts["refused"] += 1
                    continue
                counts["replaced" if isinstance(edited, Added) else "known"] += 1
                if os.path.realpath(place) == os.path.realpath(card_file(bank.path, own[1])):
                    os.unlink(place)  # its text is in the bank now; the next flush writes the old card's file again
            else:
                fresh.append(card)
        for outcome in bank.add_many(fresh):
            kind = "added" if isinstance(outcome, Added) else "known" if isinstance(outcome, Duplicate) else "refused"
            counts[kind] += 1
    return TakenIn(counts["added"], counts["replaced"], counts["known"], counts["refused"])


def census(bank: SkillBank) -> dict[str, int | float | str | None]:
    """Counts of a bank: cards by status and source, uses, wins, and which state of it this is."""
    entries = bank.entries()
    uses = sum(entry.uses for entry in entries)
    wins = sum(entry.wins for entry in entries)
    facts: dict[str, int | float | str | None] = {"events": bank.seq, "digest": bank.digest, "cards": len(entries)}
    facts |= {status: sum(entry.status == status for entry in entries) for status in STATUSES}
    facts |= {
        f"active, {source}": sum(entry.status == "active" and entry.card.source == source for entry in entries)
        for source in ("hand", "bootstrap", "failure")
    }
    facts |= {"uses": uses, "wins": wins, "wins per use": round(wins / uses, 3) if uses else None}
    facts |= {"embedder": f"{bank.embedder.name} {bank.embedder.version}", "dedup threshold": bank.threshold}
    return facts
