"""A small reader of English advice: which of a table of intents does a text ask for, and which does it forbid?

Nothing in here knows ALFWorld. A family describes its intents as data (`Intent`), and `read` finds them in any text:
sentence by sentence, by word stems, with negation judged in the clause that holds the verb and in the frame around the
sentence (`frames`). What it cannot read it
ignores, as noise. It is a keyword reader and no language model: it understands the faults its table names, however
they are worded within reason, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from metagym_envs.alfworld.rules.frames import apart, framed, withdrawal

READ_AT_MOST = 100_000
"""Characters of a text that are read; the rest is ignored, so that a huge prompt costs no more than a long one."""


@dataclass(frozen=True)
class Intent:
    """Something that advice can ask for.

    A *cue* is one way to say it: groups of words joined by ``+``, all of which must occur in one sentence, each at a
    word of its own. In a group ``open*`` stands for any word that begins so, ``open`` for the word alone, ``look_in``
    for neighbouring words. The first group holds the verb; its clause decides whether the advice is negated. A group
    that starts with ``~`` may also be met by the sentence before, where this one points back ("Open them.").

    Attributes:
        name: Unique in its table.
        cues: Ways to ask for it; the same words in the negative forbid it.
        cues_negated: Ways to ask for it in the negative ("never visit a place twice").
        grants: Names that the intent turns on; empty means its own. A general sentence may grant several special ones.
        teach: Sentences by which a teacher would ask for it; each is understood by `read`.
        limits: In the negative, these words make an order of events of it ("do not deliver it before it is clean"),
            which forbids nothing.
        weight: What one occurrence of the fault counts in a teacher's ranking; > 0.
        fault: What an observer sees where it is missing, for a teacher's analysis.
    """

    name: str
    cues: tuple[str, ...]
    cues_negated: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    teach: tuple[str, ...] = ()
    limits: tuple[str, ...] = ("until", "unless", "once")
    weight: float = 1.0
    fault: str = ""


_NEGATORS = frozenset(
    "not never no avoid avoids avoiding stop refuse refrain forbidden forbid prohibited without skip skipping ignore "
    "ignoring forget forgetting fail failing hesitate neglect neglecting overlook miss missing useless "
    "pointless waste wasteful wasting unnecessary needless".split()
)
# With these, a negated sentence forbids some excess ("never open it twice", "take nothing else"), not the thing itself.
_EXCESS = frozenset(
    "again twice else other others another same already repeatedly irrelevant unrelated different wrong until unless "
    "more anymore longer".split()
)
# "The agent opened nothing": what somebody did is no advice ...
_STORY = re.compile(
    r"^\W*(?:(?:in|during) (?:\w+ ){1,4})?(?:the |this |our |your |my )?"
    r"(?:agent|player|actor|model|assistant|you|it|he|she|they|we|i)s? "
    r"(?:(?:also|often|then|repeatedly|never|always|mostly|just|only|simply) )?"
    r"(?:(?!need|proceed|speed|succeed|exceed|feed|heed)\w{2,}ed|"
    r"kept|went|did|was|were|had|took|forgot|left|saw|lost|spent|got|gave|ran)\b"
)
# ... until the moral: "I opened nothing; from now on I will open what is closed."
_MORAL = re.compile(r";|, (?:so|therefore|hence|thus)\b|\bfrom now on\b")
# Clauses that begin so are conditions and instruct nobody: "if it is not open".
_CONDITIONS = frozenset(
    "if when whenever unless once while where wherever since because as before although which who".split()
)
_ASIDES = frozenset("that what".split())
_UNTIL = frozenset("before until unless".split())
_OPENERS = frozenset("after until so but then and or instead therefore".split())
# Words that mean something else together.
_IDIOMS = re.compile(
    r"\b(?:take (?:care|notes?|time|your time|turns|actions?|steps|it easy|into account|a look|advantage|place|"
    r"one step)|without (?:delay|hesitation|hesitating|fail|exception|question)|in (?:the )?light of|such as|no matter|"
    r"not (?:only|just|merely|simply|enough)|"
    r"no doubt|of course|in the first place|in place of|if not|not yet|(?:have|has|had) (?:not|never)|"
    r"keep an open mind|open(?:-| )(?:mind(?:ed)?|ended)|"
    r"(?:make sure|be sure|ensure|see to it|remember|note|keep in mind)(?: that)?)\b"
)
_FRESH = re.compile(
    r"\b(?:(?:have|has|had) )?(?:not|never) (?:yet )?(?:been (?:visited|searched|checked|explored|inspected)|"
    r"been|visited|seen|searched|checked|explored|inspected|examined|looked at|tried)\b"
)
_PASSED = re.compile(
    r"\b(?:walk|pass|hurry|rush)(?:ing)? (?:past|by)\b|\b(?:go|going|move|moving|run|running) past\b|"
    r"\bleav(?:e|ing)(?= (?:\w+ ){0,4}"
    r"(?:closed|shut|unopened|unsearched|unvisited|unchecked|unexplored|untreated|behind)\b)"
)
# "Never, never open it" says no more than "never open it".
_EMPHASIS = re.compile(r"\b(never)(?:,? never)+\b|\b(do not)(?:, do not)+\b")
_QUOTES = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2014": ":", "\u2013": ":", "\x00": " "}
)
_SENTENCE = re.compile(r"[.!?]+(?=\s|$|[\"')*_])|\n+")
_CLAUSE = re.compile(r"[,;:()]|\s-+\s|->|=>")
_WORD = re.compile(r"[a-z]+")
_PLACE_VERB_BEFORE = frozenset("to then and finally always never not you should must please can only or".split())
_PLACE_VERB_AFTER = frozenset(
    "it them the that this those these your each one all both any what every objects items".split()
)
_POINTERS = frozenset("it them they this these those there".split())


@dataclass(frozen=True)
class _Group:
    """The alternatives of one group: exact words, stems, and phrases of neighbouring words."""

    exact: frozenset[str]
    stems: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    looks_back: bool

    def places(self, words: Sequence[str]) -> set[int]:
        """Positions of `words` at which the group is met."""
        found = {
            at for at, word in enumerate(words) if word in self.exact or (self.stems and word.startswith(self.stems))
        }
        for phrase in self.phrases:
            size = len(phrase)
            found.update(at for at in range(len(words) - size + 1) if tuple(words[at : at + size]) == phrase)
        return found


@lru_cache(maxsize=4096)
def _cue(text: str) -> tuple[_Group, ...]:
    groups = []
    for part in text.split("+"):
        exact, stems, phrases = set(), [], []
        looks_back = part.lstrip().startswith("~")
        for item in part.replace("~", " ").split():
            if "_" in item:
                phrases.append(tuple(item.split("_")))
            elif item.endswith("*"):
                stems.append(item[:-1])
            else:
                exact.add(item)
        groups.append(_Group(frozenset(exact), tuple(stems), tuple(phrases), looks_back))
    return tuple(groups)


@dataclass(frozen=True)
class _Clause:
    words: tuple[str, ...]
    main: bool
    """Whether it can instruct; a condition ("if it is not open") cannot."""
    negated: bool
    excess: bool


@dataclass(frozen=True)
class _Sentence:
    words: tuple[str, ...]
    clause_of: tuple[int, ...]
    clauses: tuple[_Clause, ...]


def _plain(text: str) -> str:
    text = text[:READ_AT_MOST].translate(_QUOTES).lower()
    text = re.sub(r"\b(ca|do|does|did|should|must|need|wo|is|are|have|has|had|would|could)n['\s]?t\b", r"\1 not", text)
    text = re.sub(r"\b(it|that|this|there)'s\b", r"\1 is", text)
    text = (
        text.replace("cannot", "can not")
        .replace("e.g.", "like")
        .replace("i.e.", "meaning")
        .replace("in which case", ",")
    )
    text = re.sub(r"(?<=\w)-(?=\w)", " ", text)
    text = re.sub(r"[*_`#>\[\]{}|]+", " ", text)
    text = _PASSED.sub("skip", _IDIOMS.sub(" ", _FRESH.sub("unvisited", text)))
    return apart(_EMPHASIS.sub(lambda found: found[1] or found[2], re.sub(r"[ \t]+", " ", text)))


def _noun_place(words: list[str]) -> list[str]:
    """Tells the verb "place" from the noun, which becomes "location"."""
    out = []
    for at, word in enumerate(words):
        if word == "places":
            word = "locations"
        elif word == "place":
            before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
            if not ((not before or before in _PLACE_VERB_BEFORE) or after in _PLACE_VERB_AFTER):
                word = "location"
            elif before in {"the", "a", "every", "each", "that", "this", "same", "any", "one"}:
                word = "location"
        out.append(word)
    return out


def _clauses(sentence: str) -> _Sentence:
    pieces: list[list[str]] = []
    for chunk in _CLAUSE.split(sentence):
        words = _noun_place(_WORD.findall(chunk))
        current: list[str] = []
        for at, word in enumerate(words):
            follows = words[at + 1] if at + 1 < len(words) else ""
            splits = (
                word in _CONDITIONS
                or word == "without"
                or (word == "you" and len(current) > 2 and current[0] in _CONDITIONS)
                or word in _ASIDES
                or (word in _OPENERS and word not in {"and", "or"})
                or (word in {"and", "or"} and (follows in _NEGATORS or follows in {"do", "always", "then"}))
            )
            if splits and current:
                pieces.append(current)
                current = []
            current.append(word)
        if current:
            pieces.append(current)
    clauses, words_all, clause_of = [], [], []
    carried = forbade = False
    mains = [
        not (piece[0] in _CONDITIONS or piece[0] in _ASIDES) or (piece[0] == "where" and at > 0)
        for at, piece in enumerate(pieces)
    ]
    instructs = any(main and len(piece) > 1 for piece, main in zip(pieces, mains, strict=True))
    for piece, main in zip(pieces, mains, strict=True):
        if piece[0] in _UNTIL and forbade:
            main = True  # "do not deliver it before it has been cleaned" asks for the cleaning
        flips = sum(word in _NEGATORS for word in piece)
        odd = bool(flips % 2)
        # "Without opening it" turns what the clause before said.
        negated = odd != (carried or (piece[0] == "without" and forbade)) if main else odd
        if main:
            # "Do not, whatever happens, open it": a negator at the end of a clause reaches into the next ones.
            carried = carried or (odd and piece[-1] in _NEGATORS)
            forbade = negated
        clauses.append(_Clause(tuple(piece), main or not instructs, negated, not _EXCESS.isdisjoint(piece)))
        clause_of += [len(clauses) - 1] * len(piece)
        words_all += piece
    return _Sentence(tuple(words_all), tuple(clause_of), tuple(clauses))


def _met(groups: tuple[_Group, ...], sentence: _Sentence, context: tuple[str, ...]) -> set[int]:
    """Positions of the verb at which every other group is met, by another word or by the context."""
    verbs = groups[0].places(sentence.words)
    for group in groups[1:]:
        if not verbs:
            break
        found = group.places(sentence.words)
        if len(found) > 1:
            continue
        if not found and group.looks_back and group.places(context):
            continue
        verbs = {verb for verb in verbs if found - {verb}}
    return verbs


def _verdict(
    intent: Intent, sentence: _Sentence, context: tuple[str, ...], excess_forbids: bool = False
) -> bool | None:
    """True if the sentence asks for the intent, False if it forbids it, None if it does not speak of it.

    With `excess_forbids`, asking for what `cues_negated` warn of ("visit a place twice") forbids the intent.
    """
    forbidden = False
    for cue in intent.cues_negated:
        for verb in _met(_cue(cue), sentence, context):
            at = sentence.clause_of[verb]
            clause = sentence.clauses[at]
            if clause.negated:
                return True
            # "Return to a place that you have already searched": the aside belongs to it.
            excess = clause.excess or any(part.excess and not part.main for part in sentence.clauses[at + 1 : at + 2])
            forbidden = forbidden or (excess_forbids and clause.main and excess)
    if forbidden:
        return False
    for cue in intent.cues:
        for verb in _met(_cue(cue), sentence, context):
            clause = sentence.clauses[sentence.clause_of[verb]]
            if not clause.main:
                continue
            if not clause.negated:
                return True
            forbidden = forbidden or not (clause.excess or any(word in sentence.words for word in intent.limits))
    return False if forbidden else None


_NARROWS = _EXCESS | frozenset("except besides only before than yet first random randomly aimlessly anywhere".split())


def _firmly_negative(sentence: _Sentence) -> bool:
    """Whether a negative head forbids all that it names, not a special case ("what the task does not ask for")."""
    aside_negated = any(clause.negated and not clause.main for clause in sentence.clauses)
    return not aside_negated and _NARROWS.isdisjoint(sentence.words)


@dataclass(frozen=True)
class _Reading:
    """A sentence with its frame, ready to be asked for any intent."""

    all: _Sentence
    head: _Sentence
    rest: _Sentence
    turned: bool
    whole: bool
    context: tuple[str, ...]

    def verdict(self, intent: Intent) -> bool | None:
        """Like `_verdict`, with the frame taken into account."""
        if not self.turned:
            verdict = _verdict(intent, self.all, self.context)
            # "Do not search systematically: go to each place" explains what is not to be done, and "do not wander:
            # go to each place" says what is to be done instead.
            if verdict and self.rest.words and _firmly_negative(self.head):
                return _verdict(intent, self.head, self.context) is not False
            return verdict
        verdict = _verdict(intent, self.head, self.context, excess_forbids=True)
        if verdict is not None:
            return not verdict
        alone = _verdict(intent, self.rest, self.context)
        if alone is not None or not self.whole:
            return alone if alone is not None else _verdict(intent, self.all, self.context)
        # What the rest asks for only with the head's words is turned along with them.
        verdict = _verdict(intent, self.all, self.context)
        return None if verdict is None else not verdict


def _readings(raw: str, context: tuple[str, ...]) -> Iterator[_Reading]:
    frame = framed(raw)
    joined = f"{frame.head}: {frame.rest}" if frame.turned else raw
    for head, rest, both, turned in (
        (frame.head, frame.rest, joined, frame.turned),
        (frame.after, "", frame.after, False),
    ):
        sentence = _clauses(both)
        if not sentence.words:
            continue
        back = context if not _POINTERS.isdisjoint(sentence.words) else ()
        split = bool(rest) or turned
        yield _Reading(sentence, _clauses(head) if split else sentence, _clauses(rest), turned, frame.whole, back)
        context = sentence.words


def _taken_back(found: dict[str, bool], last: Mapping[str, bool], how: str, negative: bool) -> None:
    """Lets a withdrawal act on what the sentence before it said."""
    for name, wanted in last.items():
        if how == "opposite":
            found[name] = not wanted
        elif wanted and not (how == "undone" and negative):  # "Never go back. Do not do that." repeats itself
            found[name] = False
        elif how == "ignore":
            found.pop(name, None)


def read(text: str, table: Sequence[Intent]) -> Mapping[str, bool]:
    """Reads advice.

    Args:
        text: Any text; at most `READ_AT_MOST` characters of it are looked at.
        table: The intents to look for.

    Returns:
        Granted name to True (asked for) or False (forbidden). Names that the text does not speak of are absent. Where
        sentences contradict each other, the last one stands; within a sentence a special intent overrules a general
        one.
    """
    found: dict[str, bool] = {}
    last: dict[str, bool] = {}
    negative = False
    context: tuple[str, ...] = ()
    general_first = sorted(table, key=lambda intent: len(intent.grants) <= 1)
    for raw in _SENTENCE.split(_plain(text)):
        how = withdrawal(raw)
        if how:
            _taken_back(found, last, how, negative)
            continue
        if _STORY.match(raw):
            raw = "".join(_MORAL.split(raw, maxsplit=1)[1:])
        readings = list(_readings(raw, context))
        if not readings:
            continue
        last = {}
        for reading in readings:
            for intent in general_first:
                verdict = reading.verdict(intent)
                if verdict is not None:
                    last.update(dict.fromkeys(intent.grants or (intent.name,), verdict))
        found.update(last)
        negative = all(clause.negated for reading in readings for clause in reading.all.clauses if clause.main)
        context = tuple(word for reading in readings for word in reading.all.words)
    return found
