"""Cards for the tests: distinct lessons, and near copies of them."""

from __future__ import annotations

from metagym.seeding import rng
from metagym.sesa.cards import SkillCard

_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "el", "in", "or", "un")]


def word(random) -> str:
    return "".join(random.choices(_SYLLABLES, k=3))


def lesson(number: int, source: str = "failure", **fields) -> SkillCard:
    """A card that is like no other one."""
    random = rng(number, "tests/sesa")
    return SkillCard(
        description=" ".join(word(random) for _ in range(9)),
        trigger=" ".join(word(random) for _ in range(5)),
        anti_pattern=fields.pop("anti_pattern", word(random)),
        query_template=fields.pop("query_template", f"{word(random)} {{entity}}"),
        source=source,  # type: ignore[arg-type]
        **fields,
    )


def near(card: SkillCard, source: str | None = None) -> SkillCard:
    """A near copy: the same words, one more letter."""
    return SkillCard(
        card.description + "s", card.trigger, card.anti_pattern, card.query_template, source or card.source
    )
