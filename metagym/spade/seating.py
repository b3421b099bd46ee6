"""Who sits where in a run: the models and stand-ins of its four seats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metagym.chat import aclose
from metagym.chat.types import ChatModel
from metagym.errors import BadInput
from metagym.spade.config import SpadeConfig
from metagym.spade.hosts import Insider
from metagym.spade.stand_ins import ScriptedDesigner, Seat, backend_of, load_seat


@dataclass(frozen=True)
class Seats:
    """Who sits where in a run."""

    agent: ChatModel | Insider
    designer: ChatModel | ScriptedDesigner
    hinter: ChatModel
    auditor: ChatModel

    @classmethod
    def of(cls, config: SpadeConfig, **layers: Any) -> Seats:
        """Loads them; `layers` (cache, budget, ...) are shared. One model sits on every seat unless told otherwise."""
        same = config.agent if not _scripted(config.agent) else "rules"
        designer = same if config.designer is None else config.designer
        advice = designer if not _scripted(designer) else "rules"
        specs = {
            "agent": config.agent,
            "designer": designer,
            "hint": advice if config.hinter is None else config.hinter,
            "auditor": advice if config.auditor is None else config.auditor,
        }
        loaded: dict[str, Seat] = {seat: load_seat(spec, seat, **layers) for seat, spec in specs.items()}
        for seat, what in (
            ("agent", Insider),
            ("designer", ScriptedDesigner),
            ("hint", ChatModel),
            ("auditor", ChatModel),
        ):
            if not isinstance(loaded[seat], (what, ChatModel)):
                raise BadInput(f"{specs[seat]!r:.80} cannot sit on the seat of the {seat}")
        return cls(loaded["agent"], loaded["designer"], loaded["hint"], loaded["auditor"])  # type: ignore[arg-type]

    def told(self) -> dict[str, Any]:
        """Name and kind of each, for manifests."""
        pairs = {"agent": self.agent, "designer": self.designer, "hinter": self.hinter, "auditor": self.auditor}
        return {name: {"id": seat.id, "backend": backend_of(seat)} for name, seat in pairs.items()}

    async def close(self) -> None:
        """Closes the models' connections."""
        for seat in (self.agent, self.designer, self.hinter, self.auditor):
            if isinstance(seat, ChatModel):
                await aclose(seat)


def _scripted(spec: Any) -> bool:
    return isinstance(spec, str) and (spec in ("rules", "random") or spec.startswith("scripted:"))
