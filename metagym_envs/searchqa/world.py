"""An invented world: about 170 short passages on persons, towns, rivers and novels, and questions of one and two hops.

Everything is drawn from one fixed seed, so the set is the same everywhere and names nothing that exists. The passage
with the answer of a two-hop question shares no name with the question: one search with the question itself rarely finds
it, a search for the name found on the way does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from metagym.qadata import QARow
from metagym.search import Corpus, Passage
from metagym.seeding import rng

SEED = 20
PERSONS, TOWNS, NOVELS, RIVERS = 80, 40, 32, 20
QUESTIONS: Mapping[str, int] = {"train": 15, "valid": 12}
"""Questions of each type in each split; no subject of a type stands in both."""

KINDS: Mapping[str, str] = {
    "person": r"[A-Z][a-z]+ [A-Z][a-z]+",
    "town": r"[A-Z][a-z]+",
    "river": r"[A-Z][a-z]+",
    "novel": r"The [A-Z][a-z]+ [A-Z][a-z]+",
    "instrument": r"[a-z]+ [a-z]+",
}
"""What names of each kind look like."""


@dataclass(frozen=True)
class Relation:
    """A fact's kinds and the sentences that tell it, with ``{s}`` and ``{o}`` for subject and object."""

    subject: str
    object: str
    sentences: tuple[str, ...]


RELATIONS: Mapping[str, Relation] = {
    "born": Relation("person", "town", ("{s} was born in {o}.", "{o} is the birthplace of {s}.")),
    "teacher": Relation("person", "person", ("{s} was taught by {o}.", "The teacher of {s} was {o}.")),
    "instrument": Relation("person", "instrument", ("{s} plays the {o}.", "{s} is heard on the {o}.")),
    "river": Relation("town", "river", ("{s} lies on the river {o}.", "The river {o} flows through {s}.")),
    "founder": Relation("town", "person", ("{s} was founded by {o}.", "The founder of {s} was {o}.")),
    "author": Relation("novel", "person", ("{s} is a novel by {o}.", "{s} was written by {o}.")),
}


@dataclass(frozen=True)
class QuestionType:
    """A kind of question: its relations in order, and ways to ask it with ``{s}`` for the subject."""

    hops: tuple[str, ...]
    ways: tuple[str, ...]


TYPES: Mapping[str, QuestionType] = {
    "birthplace": QuestionType(("born",), ("Where was {s} born?", "In which town was {s} born?")),
    "birthplace-river": QuestionType(
        ("born", "river"),
        ("Which river flows through the town where {s} was born?", "On which river lies the birthplace of {s}?"),
    ),
    "birthplace-founder": QuestionType(
        ("born", "founder"),
        ("Who founded the town where {s} was born?", "Who was the founder of the birthplace of {s}?"),
    ),
    "teacher-instrument": QuestionType(
        ("teacher", "instrument"),
        ("Which instrument does the teacher of {s} play?", "What is played by the person who taught {s}?"),
    ),
    "author-birthplace": QuestionType(
        ("author", "born"),
        ("In which town was the author of {s} born?", "Where was the person who wrote {s} born?"),
    ),
}

_FIRST = "al bel cor dar el fen gar hal ir jor kel lor mar nor ol per ros sel tor ul ven wil yar zel".split()
_SECOND = "ba de fo gri ha ka lo mi na pa ro sha ti vo za".split()
_LAST = "dan len mond rik ssa thar vin wick ya zen".split()
_TRADES = "glass painter,bell founder,map drawer,salt trader,bridge builder,clock mender,ferry pilot,herb dealer".split(
    ","
)
_FAME = "smoked plums,blue tiles,night markets,paper kites,black bread,wool dyes,copper roofs,stone mills".split(",")
_TOUCH = "reed,glass,bone,copper,willow,silver".split(",")
_TOOL = "harp,flute,drum,lute,horn,viol,bells,zither".split(",")
_TITLE = "Lantern,Winter,Copper,Hollow,Salt,Paper,Silent,Broken".split(",")
_THING = "Field,Garden,Harbour,Letter,Mirror,Orchard,Stair,Window".split(",")


@dataclass(frozen=True)
class World:
    """All facts and what was made of them.

    Attributes:
        facts: Relation name to subject to object.
        passages: One per person, town, river and novel.
        rows: Split to questions, each with its two supporting titles in the metadata.
    """

    facts: Mapping[str, Mapping[str, str]]
    passages: tuple[Passage, ...]
    rows: Mapping[str, tuple[QARow, ...]]

    @property
    def corpus(self) -> Corpus:
        """The passages as a corpus."""
        return Corpus(self.passages, "invented world")


@lru_cache(maxsize=1)
def world() -> World:
    """The one world; always the same."""
    draw = rng(SEED, "searchqa-world")
    names = _names(draw)
    first, last = [next(names) for _ in range(PERSONS)], [next(names) for _ in range(PERSONS)]
    persons = [f"{one} {other}" for one, other in zip(first, last, strict=True)]
    towns = [next(names) for _ in range(TOWNS)]
    rivers = [next(names) for _ in range(RIVERS)]
    novels = [f"The {one} {other}" for one in _TITLE for other in _THING]
    draw.shuffle(novels)
    novels = novels[:NOVELS]
    instruments = [f"{one} {other}" for one in _TOUCH for other in _TOOL]
    shifted = [*persons[1:], persons[0]]  # nobody is taught by a pupil of theirs, nor by themselves
    facts = {
        "born": {person: draw.choice(towns) for person in persons},
        "teacher": dict(zip(persons, shifted, strict=True)),
        "instrument": {person: draw.choice(instruments) for person in persons},
        "river": {town: draw.choice(rivers) for town in towns},
        "founder": dict(zip(towns, draw.sample(persons, TOWNS), strict=True)),
        "author": dict(zip(novels, draw.sample(persons, NOVELS), strict=True)),
    }
    passages = tuple(_passages(draw, facts, persons, towns, novels, rivers))
    subjects = {"person": persons, "novel": novels}
    rows: dict[str, list[QARow]] = {split: [] for split in QUESTIONS}
    for name, kind in TYPES.items():
        chosen = draw.sample(subjects[RELATIONS[kind.hops[0]].subject], sum(QUESTIONS.values()))
        for split, count in QUESTIONS.items():
            for number in range(count):
                rows[split].append(_row(f"{name}-{number}", name, chosen.pop(), draw.choice(kind.ways), facts))
    return World(facts, passages, {split: tuple(found) for split, found in rows.items()})


def _names(draw: random.Random) -> Iterator[str]:
    """Invented names, no two alike; a name is no part of another one."""
    seen: set[str] = set()
    while True:
        name = (draw.choice(_FIRST) + draw.choice(_SECOND) + draw.choice(_LAST)).capitalize()
        if name not in seen:
            seen.add(name)
            yield name


def _passages(
    draw: random.Random,
    facts: Mapping[str, Mapping[str, str]],
    persons: Sequence[str],
    towns: Sequence[str],
    novels: Sequence[str],
    rivers: Sequence[str],
) -> Iterator[Passage]:
    def told(relation: str, subject: str) -> str:
        way = draw.choice(RELATIONS[relation].sentences)
        return way.format(s=subject, o=facts[relation][subject])

    texts: list[tuple[str, str]] = []
    for person in persons:
        facts_told = [told(relation, person) for relation in ("born", "teacher", "instrument")]
        draw.shuffle(facts_told)
        texts.append((person, " ".join([f"{person} is a {draw.choice(_TRADES)}.", *facts_told])))
    for town in towns:
        facts_told = [told(relation, town) for relation in ("river", "founder")]
        draw.shuffle(facts_told)
        texts.append((town, " ".join([f"{town} is a town known for {draw.choice(_FAME)}.", *facts_told])))
    for novel in novels:
        texts.append((novel, f"{told('author', novel)} It was printed in the year {draw.randint(300, 480)}."))
    for river in rivers:
        texts.append((river, f"The {river} is {draw.choice(('a slow', 'a cold', 'a broad', 'a shallow'))} river."))
    for number, (title, text) in enumerate(texts):
        yield Passage(f"w{number:03}", f'"{title}"\n{text}')


def _row(name: str, kind: str, subject: str, way: str, facts: Mapping[str, Mapping[str, str]]) -> QARow:
    supports, at = [], subject
    for relation in TYPES[kind].hops:
        supports.append(at)
        at = facts[relation][at]
    golds = (at, f"river {at}", f"{at} river") if TYPES[kind].hops[-1] == "river" else (at,)
    return QARow(
        id=name,
        question=way.format(s=subject),
        golds=golds,
        dataset="invented",
        metadata={"type": kind, "hops": len(supports), "supporting_titles": supports},
    )
