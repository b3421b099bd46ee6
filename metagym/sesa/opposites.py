"""Cards that sound alike and say the opposite.

Every embedder rates "always open it" and "never open it", or "heat the egg" and "cool the egg", as near copies. Merging
them would lose a lesson or turn it round, so no cosine alone decides. The rule, field by field of two cards:

1. *Antonyms.* Words of `AXES` stand on one side of an axis (heat | cool). Two texts are opposites where on some axis
   one text is on one side only and the other on the other side only, or both are on both in the other order ("heat,
   then cool" | "cool, then heat").
2. *Negation.* The first telling word after a negator (not, never, avoid, instead of, ...) is negated. Two texts are
   opposites where a word is only negated in one of them and only affirmed in the other.

The rule errs towards keeping both cards: a needless second card costs a line, a wrong merge costs a lesson.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metagym.sesa.cards import CONTENT, SkillCard, normal

AXES: tuple[tuple[str, str], ...] = (
    ("always constantly invariably", "never"),
    ("heat warm hot", "cool chill cold"),
    ("open", "close shut closed"),
    ("first start begin beginning", "last end final finish"),
    ("before earlier prior", "after later afterwards"),
    ("increase raise grow", "decrease lower reduce shrink"),
    ("more", "fewer less"),
    ("most maximum maximal highest largest biggest longest", "least minimum minimal lowest smallest shortest"),
    ("older oldest", "younger youngest"),
    ("oldest earliest", "newest latest"),
    ("broad broaden broader general generic", "narrow narrower specific"),
    ("long longer", "short shorter brief"),
    ("include keep add", "exclude drop remove omit"),
    ("accept trust", "reject distrust"),
    ("same equal identical", "different distinct"),
    ("split decompose separate", "join combine merge"),
    ("expand lengthen", "shorten condense compress"),
    ("early", "late"),
    ("up above", "down below"),
    ("left", "right"),
    ("inside in into", "outside out"),
    ("on", "off"),
    ("enable allow permit", "disable forbid prohibit"),
    ("forward forwards", "backward backwards"),
    ("one single once", "many several multiple repeatedly"),
    ("all every each", "none"),
    ("true correct", "false incorrect wrong"),
    ("clean wash", "dirty soil"),
    ("fast quickly", "slow slowly"),
    ("parent father mother", "child son daughter"),
    ("with", "without"),
    ("positive", "negative"),
    ("present available", "absent missing unavailable"),
    ("subject", "object"),
)
"""Both sides of each axis; inflected forms (-s, -ed, -ing) count as their base."""

NEGATORS = frozenset(
    "not never no don't dont doesn't didn't won't cannot can't mustn't shouldn't isn't aren't avoid refrain stop "
    "without neither nor rather instead unless forbid".split()
)
"""Words that turn the next telling word round."""

_SMALL = frozenset(
    "a an the to of from that this it its than be is are was were do does did you your any at for by and or so as "
    "ever just simply using use doing".split()
)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_CLAUSE = re.compile(r"[.;:,!?()]")


def opposites(left: SkillCard, right: SkillCard) -> bool:
    """Whether two cards contradict each other in some field that both have."""
    return any(opposed(getattr(left, name), getattr(right, name)) for name in CONTENT)


def opposed(left: str, right: str) -> bool:
    """Whether two texts contradict each other by the rule of this module; an empty text contradicts nothing."""
    ours, theirs = _Reading(left), _Reading(right)
    for axis in ours.sides.keys() & theirs.sides.keys():
        mine, other = ours.sides[axis], theirs.sides[axis]
        if not set(mine) & set(other) or (len(set(mine)) == len(set(other)) == 2 and mine[0] != other[0]):
            return True
    return bool(
        (ours.negated - ours.affirmed) & (theirs.affirmed - theirs.negated)
        or (theirs.negated - theirs.affirmed) & (ours.affirmed - ours.negated)
    )


class _Reading:
    """A text as the rule sees it: sides taken on each axis in order, words negated, words affirmed."""

    def __init__(self, text: str) -> None:
        self.sides: dict[int, list[int]] = {}
        self.negated: set[str] = set()
        self.affirmed: set[str] = set()
        for clause in _CLAUSE.split(normal(text.replace("\u2019", "'"))):
            turned = False
            for word in _WORD.findall(clause):
                for axis, side in _SIDES.get(word, ()):
                    self.sides.setdefault(axis, []).append(side)
                if word in NEGATORS:
                    turned = True
                elif word not in _SMALL:
                    (self.negated if turned else self.affirmed).add(_stem(word))
                    turned = False


def _forms(word: str) -> Iterator[str]:
    base = word[:-1] if word.endswith("e") else word
    yield from (word, word + "s", word + "es", base + "ed", base + "ing")
    if re.search("[aeiou][bdgmnpt]$", word):
        yield from (word + word[-1] + "ed", word + word[-1] + "ing")


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.removesuffix("e")


def _sides() -> dict[str, list[tuple[int, int]]]:
    table: dict[str, list[tuple[int, int]]] = {}
    for axis, pair in enumerate(AXES):
        for side, members in enumerate(pair):
            for word in members.split():
                for form in _forms(word):
                    if (axis, side) not in table.setdefault(form, []):
                        table[form].append((axis, side))
    return table


_SIDES = _sides()
