"""Words around a piece of advice that turn it as a whole, such as "never do this: ..." or "Ignore this rule.".

They hold no advice of their own. The reader reads what they enclose and turns the result; sentences come lower-cased
and with their contractions spelled out ("do not", never "don't").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MUST_NOT = (
    r"(?:please )?(?:(?:you|one|we|the agent) )?"
    r"(?:(?:do|must|should|shall|may|can|need|have to) not|never|not|under no circumstances)(?: ever)?"
)
_RULE = r"(?:rule|advice|sentence|instruction|hint|tip|statement|guideline|line|point|step|suggestion|one|claim)"
_BAD = (
    r"(?:wrong|false|untrue|incorrect|bad|harmful|forbidden|prohibited|not (?:true|right|correct|allowed|good|wise)|"
    r"(?:a |an )?(?:mistake|error|bad (?:idea|habit|advice)|wrong advice|no good))"
)
# Bullets, numbers and labels; bounded, so that no text of nothing but marks takes long.
_START = r"^(?P<label>\W{0,12}(?:\d{1,3}\W{1,4})?(?:[\w ]{1,24}\W{0,3}:\W{1,4})??)"
# "Never do this: open it." A colon follows, and all of the sentence is meant.
_BEFORE_COLON = re.compile(
    rf"{_START}(?:"
    rf"{_MUST_NOT} (?:do|follow|obey|apply|use|believe|heed|try) "
    rf"(?:(?:as|what) follows|(?:this|that|the following|the next)(?: {_RULE})?)|"
    rf"(?:avoid|ignore|disregard|reject|forget|break|refuse) (?:this|that|the following|the next)(?: {_RULE})?|"
    rf"(?:always )?do the (?:exact )?opposite of (?:this|that|what follows|the following)(?: {_RULE})?|"
    rf"(?:this|that|the following|the next)(?: {_RULE})? (?:is|would be) {_BAD}|"
    rf"{_MUST_NOT}|avoid|{_BAD}|(?:wrong|bad|false) {_RULE}"
    r")\s*(?::|,(?=\s*:))\W*"
)
# "It is not true that you should open it." What follows is a clause, and what that clause explains.
_BEFORE_THAT = re.compile(rf"{_START}it (?:is|would be) {_BAD} (?:that|to say that|to think that|to believe that)\W+")
# "It is a mistake to wander: open it." What follows the colon may be what to do instead.
_BEFORE_TO = re.compile(
    rf"{_START}(?:it (?:is|would be) (?:never right|{_BAD}) (?:to|if you)|{_MUST_NOT} (?:think|believe|assume) that)\W+"
)
# "Do not if it is closed, open it", "do not closed doors hide things: open them", "do not do not go there": where no
# verb follows, the negation is meant for the sentence as it stands.
_BEFORE_NO_VERB = re.compile(
    rf"{_START}{_MUST_NOT} (?=(?:if|when|whenever|while|once|before|after|as|where|wherever|until|because|since|"
    rf"(?:do|must|should) not|never|avoid|(?!need|proceed|speed|succeed|exceed|feed|heed)\w{{2,}}ed) )"
)
_AFTER = re.compile(rf",? (?:is|are|would be) (?:\w+ly |always |just )?{_BAD}\W*$")
_CONDITION = re.compile(r"\W*(?:and |or )?(?:if|when|whenever|unless|once|while|where|that|which|what|as) ")
_SEGMENT = re.compile(r"[:;]|\s-+\s")
_JOINT = re.compile(r":|\s-+\s|, and\b")
_CONTRAST = re.compile(r"[,;:]\s*(?:but|instead|rather|however)\b(?! (?:of|than))|\binstead,")
_CONTRAST_AT_START = re.compile(r"\W*(?:but|instead|rather|then|however|yet|only|do|just|so)\b")


@dataclass(frozen=True)
class Framed:
    """A sentence taken apart.

    Attributes:
        head: What the negation is about.
        rest: What follows the head's colon, semicolon, dash or "and"; may be empty.
        after: What stands in contrast to both ("..., but open the fridge"), to be read for itself; may be empty.
        turned: Whether a frame turns the head. Without one, the head may still be negative in itself.
        whole: Whether what the rest asks for with the help of the head's words is turned with it.
    """

    head: str
    rest: str = ""
    after: str = ""
    turned: bool = False
    whole: bool = False


def _split(text: str, at: re.Pattern[str]) -> tuple[str, str]:
    found = at.search(text)
    return (text[: found.start()], text[found.end() :]) if found else (text, "")


def framed(sentence: str) -> Framed:
    """Finds the frame of a sentence.

    Args:
        sentence: One sentence in plain lower case.
    """
    found = _BEFORE_COLON.match(sentence)
    if found:
        inner = found["label"] + sentence[found.end() :]
        contrast = _CONTRAST.search(inner)
        cut = contrast.start() if contrast else len(inner)
        return Framed(inner[:cut], after=inner[cut:], turned=True)
    for frame in (_BEFORE_THAT, _BEFORE_TO, _BEFORE_NO_VERB):
        found = frame.match(sentence)
        if not found:
            continue
        body = sentence[found.end() :]
        contrast = _CONTRAST.search(body)
        cut = contrast.start() if contrast else len(body)
        head, rest = _split(body[:cut], _SEGMENT)
        return Framed(found["label"] + head, rest, body[cut:], turned=True, whole=frame is not _BEFORE_TO)
    head, rest = _split(sentence, _SEGMENT)
    predicate = _AFTER.search(head)
    if predicate and not _CONDITION.match(re.split(r"[,(]", head[: predicate.start()])[-1]):
        return Framed(head[: predicate.start()], rest, turned=True)
    head, rest = _split(sentence, _JOINT)
    if _CONTRAST_AT_START.match(rest):
        head, rest = sentence, ""
    return Framed(head, rest)


_THIS = rf"(?:this|that|it|the (?:above|last|previous|preceding|former))(?: {_RULE})?"
_WITHDRAWN = re.compile(
    rf"^\W*(?:but |and |so |now |please )*(?:"
    rf"(?P<ignore>(?:ignore|disregard|forget|reject|break) {_THIS}|"
    rf"{_MUST_NOT} (?:follow|obey|apply|heed|use|believe) {_THIS})|"
    rf"(?P<undone>{_MUST_NOT} do (?:this|that|it|so)|avoid (?:this|that)|"
    rf"{_THIS} is (?:forbidden|prohibited|not allowed))|"
    rf"(?P<opposite>(?:always )?do the (?:exact )?opposite(?: of {_THIS})?|the opposite is (?:true|right|correct)|"
    rf"{_THIS} (?:is|would be) {_BAD})"
    r")\W*$"
)
_WITHDRAWN_INSIDE = re.compile(
    rf"[,;:(]\s*(?=(?:but |and )?(?:(?:ignore|disregard) (?:this|that) {_RULE}|{_MUST_NOT} (?:follow|obey) this|"
    rf"(?:always )?do the (?:exact )?opposite\b(?! of)))"
)


def apart(text: str) -> str:
    """Gives a withdrawal at the end of a sentence ("..., but ignore this rule") a sentence of its own."""
    return _WITHDRAWN_INSIDE.sub(". ", text)


def withdrawal(sentence: str) -> str:
    """How a sentence takes back the one before it.

    Args:
        sentence: One sentence in plain lower case.

    Returns:
        ``"ignore"``, ``"undone"`` ("do not do that") or ``"opposite"``; "" where it says something else.
    """
    found = _WITHDRAWN.match(sentence)
    return (found.lastgroup or "") if found else ""
