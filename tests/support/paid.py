"""A 'paid' model for tests of resuming: a scripted stand-in that writes down every call it is asked to answer.

Named in specs as ``python:tests.support.paid:actor`` and ``python:tests.support.paid:reflector``; the log is the file
in ``PAID_LOG``. Answers are slow enough (``PAID_SECONDS``) that a kill hits calls on their way.
"""

from __future__ import annotations

import asyncio
import hashlib
import os

from metagym.chat import Request


def _note(request: Request) -> int:
    digest = hashlib.sha256(repr((request.messages, request.seed, request.tag)).encode()).hexdigest()
    with open(os.environ["PAID_LOG"], "a", encoding="utf-8") as log:
        log.write(digest + "\n")
    return int(digest[:8], 16)


async def actor(request: Request) -> str:
    """Picks one of the listed actions."""
    number = _note(request)
    await asyncio.sleep(float(os.environ.get("PAID_SECONDS", "0.002")))
    listed = [line[2:] for line in request.messages[-1].content.splitlines() if line.startswith("- ")]
    return f"Thought: one of {len(listed)}.\nAction: {listed[number % len(listed)]}"


async def reflector(request: Request) -> str:
    """Proposes a prompt that depends on what it was shown."""
    number = _note(request)
    await asyncio.sleep(float(os.environ.get("PAID_SECONDS", "0.002")))
    return f"ANALYSIS:\nI counted.\n\nIMPROVED PROMPT:\nRemember the number {number}."
