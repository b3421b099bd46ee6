"""Where the answer stands in a reply: in a box, as a letter, or in the last block of code; never in its thinking."""

from __future__ import annotations

import re
from typing import Any

from metagym.answers import extract, visible
from metagym.chat import Reply
from metagym.families import AnswerForm
from metagym_envs.problems.rows import LETTERS, Kind

_BRACE = re.compile(r"\\[{}]|\\(?:boxed|fbox)\s*\{|[{}]")
_LETTER = re.compile(
    rf"[\s({{*\[]*(?:\\text(?:bf)?\{{)?\(?([{LETTERS}{LETTERS.lower()}])(?=\s*$|[).:,\]}}*]|\s+[-–—]\s)"
)
_PYTHON = frozenset(("", "python", "python3", "py"))
LONGEST = 200_000
"""Characters of a reply that are read, from its end."""


def boxed(text: str) -> str | None:
    r"""What stands in the last complete ``\boxed{...}``; None without one. One pass, whatever the text."""
    found: tuple[int, int] | None = None
    opened: list[int] = []  # where the content of each open box begins; -1 for other braces
    for brace in _BRACE.finditer(text):
        what = brace[0]
        if what == "{":
            opened.append(-1)
        elif what == "}":
            start = opened.pop() if opened else -1
            if start >= 0 and (found is None or start > found[0]):
                found = start, brace.start()
        elif len(what) > 2:  # not an escaped brace
            opened.append(brace.end())
    return None if found is None else text[found[0] : found[1]].strip()


def letter(text: str) -> str:
    """The letter with which an answer begins, in capitals; "" where it begins otherwise."""
    found = _LETTER.match(text)
    return found[1].upper() if found else ""


def code(text: str) -> str | None:
    """The last complete block of Python in a text; None without one."""
    found: str | None = None
    block: list[str] | None = None  # lines of the open block
    language = ""
    for line in text.splitlines(keepends=True):
        mark = line.strip()
        if block is None:
            if mark.startswith("```") and "`" not in mark[3:]:
                block, language = [], mark[3:].strip().lower()
        elif mark == "```":
            if language in _PYTHON:
                found = "".join(block)
            block = None
        else:
            block.append(line)
    return found


def _answer(reply: Reply, admissible: Any) -> str:
    text = _seen(reply)
    found = boxed(text)
    return (extract(text).answer if found is None else found) or ""


def _choice(reply: Reply, admissible: Any) -> str:
    return letter(_answer(reply, admissible))


def _code(reply: Reply, admissible: Any) -> str:
    return code(_seen(reply)) or ""


def _seen(reply: Reply) -> str:
    return "" if reply.text is None else visible(reply.text[-LONGEST:])


_ABSENT = r"Your reply held no complete \boxed{...}, so no answer was taken."
_NO_CODE = "Your reply held no complete block of Python (```python ... ```), so no answer was taken."

FORMS: dict[Kind, AnswerForm] = {
    "math": AnswerForm(
        r"Reason step by step, and put your final answer, and nothing else, within \boxed{}.", _answer, _ABSENT
    ),
    "choice": AnswerForm(
        r"Reason step by step, and put the letter of the right option, and nothing else, within \boxed{}.",
        _choice,
        _ABSENT,
    ),
    "program": AnswerForm(
        "Think first if you like, then give the whole program in one block, between ```python and ```.", _code, _NO_CODE
    ),
    "function": AnswerForm(
        "Think first if you like, then give the whole function, with the imports it needs, in one block, between "
        "```python and ```.",
        _code,
        _NO_CODE,
    ),
}
"""How actors answer, by kind of benchmark."""
