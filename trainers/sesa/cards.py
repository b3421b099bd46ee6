"""Card dropout: cards that were found and are left out of a training prompt by chance.

A solver that always sees its cards may learn to read them and nothing else; deployed without the bank it then knows as
little as before. With some cards left out, the same questions have to be answered from the weights too.
"""

from __future__ import annotations

from dataclasses import dataclass

from metagym.checks import number as numeric
from metagym.checks import settle
from metagym.seeding import check_seed, rng
from metagym.sesa.retrieval import Searchable
from metagym.sesa.snapshots import FoundCard


@dataclass(frozen=True)
class CardDropout:
    """Leaves each card out of a prompt with the same chance, independently of the others.

    Attributes:
        chance: In [0, 1].
        seed: Decides which; equal seeds leave out the same cards of the same questions.
    """

    chance: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks the values."""
        settle(self, "chance", numeric, 0.0, 1.0)
        object.__setattr__(self, "seed", check_seed(self.seed))

    def keeps(self, question: str, card: str) -> bool:
        """Whether a card stays in the prompt of a question."""
        if self.chance in (0.0, 1.0):
            return not self.chance
        return rng(self.seed, "card-dropout", question, card).random() >= self.chance


@dataclass(frozen=True)
class DroppingSearch:
    """A bank, or a snapshot of one, whose finds are thinned out; the places of dropped cards stay empty.

    Attributes:
        inner: What is searched.
        dropout: See `CardDropout`.
    """

    inner: Searchable
    dropout: CardDropout

    def search(self, query: str, k: int) -> tuple[FoundCard, ...]:
        """The nearest active cards but those that are left out."""
        return tuple(found for found in self.inner.search(query, k) if self.dropout.keeps(query, found.card.id))
