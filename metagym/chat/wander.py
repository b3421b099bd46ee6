"""The spec ``random``: stand-ins for both seats that know nothing, for checks and as the floor of every comparison."""

from __future__ import annotations

from metagym.chat.scripted import scripted
from metagym.chat.types import ChatModel, Request
from metagym.seeding import rng

LIST_HEAD = "Admissible actions:"
"""The line above the listed actions in what an actor reads; scripted actors find the list by it."""


def wanderer(seat: str) -> ChatModel:
    """The model of ``random``: as an actor it picks among the listed actions, in any other seat it changes nothing."""
    return scripted(_wander if seat == "actor" else _keep, id=f"random:{seat}")


def _wander(request: Request) -> str:
    _, mark, listed = request.messages[-1].content.rpartition(LIST_HEAD + "\n")
    actions = [line[2:] for line in listed.splitlines() if line.startswith("- ")] if mark else []
    choice = rng(request.seed or 0, "wander").choice(actions) if actions else "look"
    return f"Thought: I wander (scripted stand-in).\nAction: {choice}"


def _keep(request: Request) -> str:
    return "ANALYSIS:\nI am a scripted stand-in that changes nothing."
