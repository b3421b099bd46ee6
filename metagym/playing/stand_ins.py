"""Which model sits in a seat: specs, models and the scripted stand-ins that need no model at all."""

from __future__ import annotations

from typing import Any

from metagym import chat
from metagym.chat.types import ChatModel, Request
from metagym.families import Family
from metagym.playing.actor import LIST_HEAD
from metagym.seeding import rng


def _wander(request: Request) -> str:
    """Picks among the listed actions at random; answers ``look`` where there is no list."""
    _, mark, listed = request.messages[-1].content.rpartition(LIST_HEAD + "\n")
    actions = [line[2:] for line in listed.splitlines() if line.startswith("- ")] if mark else []
    choice = rng(request.seed or 0, "wander").choice(actions) if actions else "look"
    return f"Thought: I wander (scripted stand-in).\nAction: {choice}"


def _keep(request: Request) -> str:
    """Proposes no change."""
    return "ANALYSIS:\nI am a scripted stand-in that changes nothing."


def resolve(spec: Any, seat: str, family: Family, **layers: Any) -> ChatModel:
    """The model for a seat.

    Args:
        spec: ``"rules"`` (the family's scripted stand-in), ``"random"`` (an actor that wanders among the legal
            actions; a reflector that changes nothing), any spec of `metagym.chat.load`, a model, or a callable.
        seat: ``"actor"`` or ``"reflector"``.
        family: Whose stand-ins ``rules`` means.
        **layers: Cache, budget and the like, handed to `metagym.chat.load`.

    Raises:
        SpecError: Unknown spec, or the family has no stand-in for this seat.
    """
    if spec == "random":
        return chat.scripted(_wander if seat == "actor" else _keep, id=f"random:{seat}")
    return chat.load(spec, seat=seat, family=family, **layers)
