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


def briscola(base: type[Any]) -> type[Any]:
    """Briscola in which 60 points each are a draw.

    The engine (0.7.4) names the first of those with the most points the winner, so that seat 0 wins every tie.

    Args:
        base: The engine's class.
    """

    class Mended(base):
        """The engine's Briscola with its ties kept."""

        def _end_game(self) -> Any:
            points = self.state.game_state["points_won"]
            if points[0] != points[1]:
                return super()._end_game()
            self.state.set_draw(f"Both players have {points[0]} points.")
            return self.state.step(rotate_player=False)

    return Mended


def ultimate_tic_tac_toe(base: type[Any]) -> type[Any]:
    """Ultimate tic-tac-toe that is drawn when no square is left to play.

    The engine (0.7.4) waits for every small board to be won. One that fills up without a winner never is: then the game
    goes on without a legal move, and whoever has the turn loses by it.

    Args:
        base: The engine's class.
    """

    class Mended(base):
        """The engine's ultimate tic-tac-toe with its draws kept."""

        def _is_draw(self) -> bool:
            state = self.state.game_state
            return all(
                state["macro_board"][board // 3][board % 3] != " " or self._board_is_full(state["board"][board])
                for board in range(9)
            )

    return Mended
