"""What the scripted actor can read: the question forms and the sentences of the invented world."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from metagym_envs.searchqa.world import KINDS, RELATIONS, TYPES


@dataclass(frozen=True, slots=True)
class Plan:
    """A question as the actor understands it: its subject and the relations to follow from there."""

    subject: str
    hops: tuple[str, ...]


@lru_cache(maxsize=1)
def _questions() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    """Patterns of all question forms, those of two hops first: they hold the others' words too."""
    found = []
    for kind in sorted(TYPES.values(), key=lambda kind: -len(kind.hops)):
        name = KINDS[RELATIONS[kind.hops[0]].subject]
        for way in kind.ways:
            before, after = way.split("{s}")
            found.append((re.compile(f"{re.escape(before)}({name}){re.escape(after)}"), kind.hops))
    return tuple(found)


@lru_cache(maxsize=1)
def _sentences() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    def pattern(sentence: str, subject: str, object: str) -> re.Pattern[str]:
        text = re.escape(sentence).replace(r"\{s\}", f"(?P<s>{subject})").replace(r"\{o\}", f"(?P<o>{object})")
        return re.compile(rf"(?<![\w]){text}")

    return {
        name: tuple(pattern(one, KINDS[relation.subject], KINDS[relation.object]) for one in relation.sentences)
        for name, relation in RELATIONS.items()
    }


def understand(question: str) -> Plan | None:
    """The plan for a question; None where it is none of the known forms."""
    for pattern, hops in _questions():
        if found := pattern.search(question):
            return Plan(found[1], hops)
    return None


def facts(text: str, relation: str) -> Iterator[tuple[str, str]]:
    """Subjects and objects of all sentences that tell a relation, in the order of the forms."""
    for pattern in _sentences()[relation]:
        for found in pattern.finditer(text):
            yield found["s"], found["o"]


def look_up(text: str, relation: str, subject: str) -> str | None:
    """What a text says of a subject; None where it says nothing."""
    return next((value for name, value in facts(text, relation) if name == subject), None)


QUERIES: Mapping[str, str] = {
    "born": "{s} born birthplace",
    "teacher": "{s} teacher taught",
    "instrument": "{s} plays instrument",
    "river": "{s} river",
    "founder": "{s} founder founded",
    "author": "{s} novel written",
}
"""What to search for a hop."""
