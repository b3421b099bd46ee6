"""Does a text give away the solution of a seed?

The test looks for concrete values: what differs between the solutions of different seeds. It is a filter against the
commonest leaks, not a proof: a designer may hide a value in ways that no such test finds (as a riddle, letter by
letter). What it misses shows in the plays: a program that is won with the hint alone and never without earns nothing
from the preset ``metagym``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|\w*_\w*|[^\W\d_]+(?:['’][^\W\d_]+)*|\w+")
# What stands around the values of a tool call: tags, the tool's name, names of arguments.
_FRAME = re.compile(r'</?\w+>|"name"\s*:\s*"[^"]*"|"[^"]*"\s*:')
_DIGITS = re.compile(r"\d(?:[\s.,;:/|_-]*\d)*")
_POSSESSIVE = re.compile(r"['’][sS]\Z")
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        "three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
        "nineteen twenty".split(),
        3,  # one and two are ordinary words
    )
}
# Words that carry no value wherever they stand.
_FUNCTION_WORDS = frozenset(
    "a all an and any are as at be but by can do each every for from has have how if in is it its more most must no "
    "not of on one only or other same so some than that the their them then there these they this to two was what when "
    "where which while who with yes you your".split()
)
_LONG = 3  # digits from which a number is also looked for backwards and spread over separators


def leak_in(text: str, solution: Sequence[str], others: Sequence[Sequence[str]] = (), observation: str = "") -> str:
    """Says how a text gives a solution away.

    A *value* is a word or number of the solution that is not in the solutions of all seeds. With no other seed at
    hand, numbers are values, and so are words that the player does not see. The first word of an action of several
    words is its command, and no value; neither are the names of tools and arguments in a tool call. The text leaks

    - if a number of the solution that is a value stands in it: in digits, as a word from three to twenty, or, from
      three digits on, with separators between the digits or backwards;
    - if a word that is a value stands in it, unless it names the alternatives as well: every value of every seed; a
      word of several parts (``red_door``) stands in it if its parts do, one after the other;
    - if a whole action of several words, one of them a value, stands in it, and the player does not see the action;
    - if three actions that follow each other in this solution, and not in all, follow each other in it.

    Args:
        text: The hint (or another text that a player sees).
        solution: The actions that solve the seed.
        others: Solutions of other seeds.
        observation: What the player sees first.

    Returns:
        One sentence with the value; "" where nothing was found.
    """
    said = _tokens(text)
    there = set(said)
    mine = _values(solution)
    rest = [_values(other) for other in others]
    vocabulary = mine.intersection(*rest) if rest else mine & {t for t in _tokens(observation) if not t[0].isdigit()}
    values = mine - vocabulary
    for value in sorted(values & there):
        if value[0].isdigit():
            return f"the value {value!r} of a solution stands in it"
    alternatives = set().union(*rest) - vocabulary if rest else set()
    words = {value for value in alternatives | values if not value[0].isdigit()}
    spoken = _run(said)
    told = {word for word in words if word in there or ("_" in word and _run(word.split("_")) in spoken)}
    named = sorted(values & told)
    if named and not (rest and len(words) > len(named) and words <= told):
        return f"the value {named[0]!r} of a solution stands in it"
    spread = {"".join(filter(str.isdigit, run)) for run in _DIGITS.findall(_plain(text))}
    for value in sorted(v for v in values if v.isdigit() and len(v) >= _LONG):
        if any(value in digits or value[::-1] in digits for digits in spread):
            return f"the value {value!r} of a solution stands in it, in another form"
    seen = _run(_tokens(observation))
    for action in solution:
        tokens = _tokens(action)
        if len(tokens) > 1 and values & set(tokens) and _run(tokens) in spoken and _run(tokens) not in seen:
            return f"the action {action!r:.80} of a solution stands in it"
    bare = _run([token for token in said if token not in _FUNCTION_WORDS])
    shared = [set(_triples(other)) for other in others]
    for triple in _triples(solution):
        if triple in bare and not (shared and all(triple in other for other in shared)):
            return f"the actions {triple.strip()!r:.80} of a solution stand in it, one after the other"
    return ""


def _triples(solution: Sequence[str]) -> Iterator[str]:
    """Every three successive actions that are not all the same, as one run without function words."""
    actions = [[token for token in _tokens(action) if token not in _FUNCTION_WORDS] for action in solution]
    for three in zip(actions, actions[1:], actions[2:], strict=False):
        if all(three) and len(set(map(tuple, three))) > 1:
            yield _run([token for action in three for token in action])


def _plain(text: str) -> str:
    """Compatibility forms folded, digits of all scripts as ASCII, characters without a form (zero width) left out."""
    folded = unicodedata.normalize("NFKC", text)
    if folded.isascii():
        return folded
    kept = (char for char in folded if unicodedata.category(char) != "Cf")
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in kept)


def _tokens(text: str) -> list[str]:
    """Words and numbers of a text in order; single letters keep their case, all else is folded."""
    found = []
    for token in _TOKEN.findall(_plain(text)):
        if token[0].isdigit():
            found.append(token.replace(",", ""))
        else:
            token = _POSSESSIVE.sub("", token)
            folded = token if len(token) == 1 else token.casefold()
            found.append(_NUMBER_WORDS.get(folded, folded))
    return found


def _values(actions: Sequence[str]) -> set[str]:
    """What may be a value in a solution: numbers, words, and capital letters other than A and I."""
    found: set[str] = set()
    for action in actions:
        bare, frames = _FRAME.subn(" ", action.replace("\\boxed", " "))
        tokens = _tokens(bare)
        command = len(tokens) > 1 and not frames and not tokens[0][0].isdigit()
        found.update(tokens[command:])
    return {token for token in found if _is_value(token)}


def _is_value(token: str) -> bool:
    if len(token) > 1:
        return token not in _FUNCTION_WORDS
    return token.isdigit() or (token.isupper() and token not in "AI")


def _run(tokens: Sequence[str]) -> str:
    return " " + " ".join(tokens).casefold() + " "
