"""Repairs of games whose rules the engine does not keep."""

from __future__ import annotations

import re
from typing import Any

_PAYS = re.compile(r"\[(bet|call)\]", re.IGNORECASE)
_MOVE = re.compile(r"\[(check|bet|fold|call)\]", re.IGNORECASE)


def kuhn_poker(base: type[Any]) -> type[Any]:
    """Kuhn poker in which a bet and a call cost what the rules say, and which stops after its last round.

    The engine (0.7.4) adds neither to the pot nor takes it from the player, so that betting is free; and after the
    last round it takes two more antes and deals a hand that nobody plays (TextArena's pull request 189).

    Args:
        base: The engine's class.
    """

    class Mended(base):
        """The engine's Kuhn poker with its books kept."""

        def step(self, action: str) -> Any:
            """Pays for a legal bet or call, then plays it."""
            state = self.state.game_state
            found = _MOVE.search(action)
            if found and _PAYS.match(found[0]) and found[1].lower() in state["current_legal_action_tree"]:
                state["player_chips"][self.state.current_player_id] -= 1
                state["pot"] += 1
            return super().step(action)

        def _init_round(self) -> None:
            told = {seat: len(messages) for seat, messages in self.state.observations.items()}
            super()._init_round()
            if self.state.done:
                state = self.state.game_state
                for seat, count in told.items():
                    state["player_chips"][seat] += self.ante
                    del self.state.observations[seat][count:]
                state["pot"] = 0

    return Mended
