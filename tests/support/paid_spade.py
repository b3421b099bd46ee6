"""'Paid' models for tests of resuming a run of SPADE: scripts that write down every call they are asked to answer.

Named in specs as ``python:tests.support.paid_spade:agent`` and ``...:designer``; see `tests.support.paid` for the log.
"""

from __future__ import annotations

import asyncio
import os
import re

from metagym.chat import Request
from metagym.spade.stand_ins.programs import RULES, number_lock
from tests.support.paid import _note

_TOLD = re.compile(r"^(Too low|Too high|It clicks)", re.MULTILINE)
_TURN = re.compile(r"Action: turn (\d+)")


async def agent(request: Request) -> str:
    """Halves the range; errs now and then, as its sampling seed says."""
    number = _note(request)
    await asyncio.sleep(float(os.environ.get("PAID_SECONDS", "0.002")))
    low, high, guess = 3, 59, 0
    for message in request.messages:
        if message.role == "assistant":
            guess = int((_TURN.search(message.content) or ["", "0"])[1])
        elif told := _TOLD.match(message.content):
            low, high = {
                "Too low": (guess + 1, high),
                "Too high": (low, guess - 1),
                "It clicks": (3, 59),
            }[told[1]]
    wrong = number % 7 == 0
    return f"Thought: between {low} and {high}.\nAction: turn {low if wrong else (low + high) // 2}"


async def designer(request: Request) -> str:
    """Writes locks, hints and prose, by what it is asked and its sampling seed."""
    number = _note(request)
    await asyncio.sleep(float(os.environ.get("PAID_SECONDS", "0.002")))
    if request.tag == "hint":
        return "HINT: Keep the range that is left in mind and turn to its middle."
    if request.tag == "auditor":
        return '{"verdict": "accept", "reason": "it is fair"}'
    if number % 5 == 0:
        return "I have no idea today."
    names = sorted(RULES)
    rules = {names[number % len(names)], names[number // 7 % len(names)]}
    return f"A lock.\n```python\n{number_lock(2 + number % 2, rules)}```"
