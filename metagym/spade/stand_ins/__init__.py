"""Scripted stand-ins for the seats of SPADE, named in settings like models: ``scripted:<name>?option=value&...``.

They show that the loop works, cost nothing and are the same on every machine. What they are told beside a model's
prompt stands in `metagym.spade.hosts.Knowledge` and `metagym.spade.stand_ins.designers.Brief`.
"""

from __future__ import annotations

import json
from typing import Any

from metagym.chat import load
from metagym.chat.scripted import scripted
from metagym.chat.types import ChatModel, Request
from metagym.errors import BadInput, SpecError
from metagym.spade.hosts import Insider
from metagym.spade.stand_ins.agents import AGENTS, made
from metagym.spade.stand_ins.designers import DESIGNERS, Brief, ScriptedDesigner

SCHEME = "scripted"
DEFAULTS = {"agent": "learner", "designer": "mutator"}
"""What the spec ``rules`` means, by seat."""

Seat = ChatModel | Insider | ScriptedDesigner
"""Whatever may sit on a seat."""

__all__ = ["AGENTS", "DEFAULTS", "DESIGNERS", "Brief", "Insider", "ScriptedDesigner", "Seat", "load_seat"]


def load_seat(spec: Any, seat: str, **layers: Any) -> Seat:
    """Whoever sits on a seat.

    Args:
        spec: ``rules`` (the seat's usual stand-in), ``scripted:<name>?option=value``, any model spec of
            `metagym.chat.load`, a model, a callable, or a stand-in.
        seat: ``agent``, ``designer``, ``hint`` or ``auditor``.
        **layers: Reply cache, budget and the like, for models.

    Raises:
        BadInput: There is no such stand-in, or it does not take an option.
        SpecError: The spec cannot be read.
    """
    if isinstance(spec, (Insider, ScriptedDesigner)):
        return spec
    if isinstance(spec, str) and (spec == "rules" or spec.partition(":")[0] == SCHEME):
        return _scripted(spec, seat)
    return load(spec, seat="actor" if seat == "agent" else seat, **layers)


def _scripted(spec: str, seat: str) -> Seat:
    if seat in ("hint", "auditor"):
        return scripted(_advise if seat == "hint" else _accept, id=f"scripted:{seat}")
    name, options = _read(spec) if spec != "rules" else (DEFAULTS[seat], {})
    return made(AGENTS if seat == "agent" else DESIGNERS, name, options, seat)


def _read(spec: str) -> tuple[str, dict[str, Any]]:
    """Name and options of a stand-in's spec; numbers are read as numbers."""
    head, mark, query = spec.partition("?")
    options: dict[str, Any] = {}
    for pair in query.split("&") if mark else []:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier() or name in options:
            raise SpecError(f"the options of {head[:60]!r} are written name=value, joined by &; got {pair[:60]!r}")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return head.partition(":")[2], options


def _advise(request: Request) -> str:
    return "HINT: [strategy: halve] Keep the range that is left in mind and go for its middle."


def _accept(request: Request) -> str:
    return json.dumps({"verdict": "accept", "reason": "scripted stand-in: it accepts everything"})


def backend_of(seat: Seat) -> str:
    """Kind of model: ``scripted``, ``local`` or ``server``."""
    backend = getattr(seat, "backend", "")
    if backend not in ("scripted", "local", "server"):
        raise BadInput(f"{seat!r:.80} does not say what kind of model it is")
    return str(backend)
