"""Scripted players for the other seat: one that moves at random, and one that keeps to simple rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from metagym.errors import BadInput
from metagym_envs.games.engine import Table

STYLES = ("random", "careful")


def check_style(style: Any) -> str:
    """Returns the style.

    Raises:
        BadInput: There is no such style.
    """
    if style not in STYLES:
        raise BadInput(f"an opponent is {' or '.join(map(repr, STYLES))}, got {style!r}")
    return str(style)


def move_of(table: Table, style: str, chance: Random) -> str:
    """The move of the seat whose turn it is.

    Args:
        table: A game of two seats.
        style: ``"random"``: any legal move. ``"careful"``: wins at once where it can, and leaves no win at once where
            it can help it; in Othello takes corners; in games of cards and dice keeps to a rule of thumb that looks at
            its own hand only.
        chance: Where a choice is drawn.
    """
    legal = table.legal() or ()
    if style == "random":
        return chance.choice(legal)
    if rule := _RULES.get(table.game.name):
        return rule(table, legal, chance)
    return chance.choice(_safe(table, legal) if table.game.visible else legal)


def _safe(table: Table, legal: tuple[str, ...]) -> tuple[str, ...]:
    seat, safe = table.turn, []
    for move in legal:
        after = table.tried(move)
        if after.over and after.paid(seat) > 0:
            return (move,)
        if not _loses(after, seat):
            safe.append(move)
    return tuple(safe) or legal


def _loses(table: Table, seat: int) -> bool:
    """Whether the game is lost, or the other seat can win it with its next move."""
    if table.over:
        return table.paid(seat) < 0
    if table.turn == seat:
        return False
    answers = (table.tried(move) for move in table.legal() or ())
    return any(after.over and after.paid(seat) < 0 for after in answers)


def _kuhn_poker(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Bets and calls with a king, folds a jack, and passes with a queen but for every third call."""
    card = table.engine.state.game_state["player_cards"][table.turn]  # 0 jack, 1 queen, 2 king
    pays = "[bet]" if "[bet]" in legal else "[call]"
    passes = "[check]" if "[check]" in legal else "[fold]"
    return pays if card == 2 or (card == 1 and pays == "[call]" and chance.random() < 1 / 3) else passes


def _liars_dice(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Calls what is not to be expected from its own dice and a sixth of the others; else bids no more than that."""
    state = table.engine.state.game_state
    own = state["dice_rolls"][table.turn]
    hidden = sum(state["remaining_dice"].values()) - len(own)

    def expected(face: int) -> float:
        return own.count(face) + hidden / 6

    bid = state["current_bid"]
    if bid["quantity"] and bid["quantity"] > expected(bid["face_value"]) + 0.5:
        return "[Call]"
    bids = [move for move in legal if move != "[Call]"]
    good = [move for move in bids if _quantity(move)[0] <= expected(_quantity(move)[1]) + 0.5]
    return chance.choice(good) if good else "[Call]" if "[Call]" in legal else bids[0]


def _quantity(bid: str) -> tuple[int, int]:
    quantity, face = bid.removeprefix("[Bid: ").removesuffix("]").split(", ")
    return int(quantity), int(face)


def _othello(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Takes a corner where it can."""
    last = table.engine.N - 1
    corners = [move for move in legal if move in {f"[{row}, {column}]" for row in (0, last) for column in (0, last)}]
    return chance.choice(corners or legal)


def _pig_dice(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Holds at 20, or at what wins."""
    state = table.engine.state.game_state
    wanted = min(20, table.engine.winning_score - state["scores"][table.turn])
    return "[hold]" if state["turn_total"] >= wanted else "[roll]"


_RULES: Mapping[str, Callable[[Table, tuple[str, ...], Random], str]] = {
    "KuhnPoker": _kuhn_poker,
    "LiarsDice": _liars_dice,
    "Othello": _othello,
    "PigDice": _pig_dice,
}
