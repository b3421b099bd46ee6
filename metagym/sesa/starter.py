"""Hand-written cards to prime a bank with where a run names none of its own.

They say how to answer. How to search is left to be learnt from failures.
"""

from __future__ import annotations

from metagym.sesa.cards import SkillCard

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
