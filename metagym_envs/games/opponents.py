"""Scripted players for the other seat: one that moves at random, and one that keeps to simple rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random

from metagym_envs.games.engine import Table

STYLES = ("random", "careful")
"""Scripted players by name."""


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


def _battleship(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Fires next to its hits."""
    tracking = table.engine.state.game_state["tracking_board"][table.turn]
    near = []
    for move in legal:
        row, column = ord(move[1]) - ord("A"), int(move[2:-1])
        around = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
        if any(min(cell) >= 0 and max(cell) < len(tracking) and tracking[cell[0]][cell[1]] == "X" for cell in around):
            near.append(move)
    return chance.choice(near or legal)


def _alquerque(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Captures where it can: only a jump goes two files or ranks far."""
    jumps = [move for move in legal if 2 in (abs(ord(move[1]) - ord(move[4])), abs(ord(move[2]) - ord(move[5])))]
    return chance.choice(jumps or legal)


def _crusade(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Captures where it can."""
    before = table.engine.state.game_state["board"]

    def captures(move: str) -> bool:
        row, column = table.engine.BOARD_N - int(move[5]), ord(move[4]) - ord("a")
        return bool(before[row][column])  # a move leads to no piece of its own

    return chance.choice([move for move in legal if captures(move)] or legal)


def _ultimate(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Takes a small board where it can."""
    engine, mark = table.engine, "OX"[table.turn]

    def takes(move: str) -> bool:
        board, square = int(move[1]), int(move[3])
        cells = [list(row) for row in engine.state.game_state["board"][board]]
        cells[square // 3][square % 3] = mark
        return bool(engine._check_winner(cells))

    return chance.choice([move for move in legal if takes(move)] or legal)


def _blotto(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Spreads its units: no field gets more than one above an even share."""
    most = -(-table.engine.num_total_units // table.engine.num_fields) + 1
    even = [move for move in legal if max(int(part[1:]) for part in move[1:-1].split()) <= most]
    return chance.choice(even or legal)


def _pure_strategy(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Bids the prize's own worth."""
    engine = table.engine
    worth = f"[{engine._val_to_face(engine.state.game_state['current_prize'])}]"
    return worth if worth in legal else chance.choice(legal)


def _pennies(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Expects what the other seat has chosen most often."""
    expected = _habit(table, chance)
    if expected is None:
        return chance.choice(legal)
    return next(move for move in legal if (move == f"[{expected}]") == (table.turn == 0))  # seat 0 wants them equal


def _rock_paper_scissors(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Beats what the other seat has chosen most often."""
    beaten_by = {"rock": "[paper]", "paper": "[scissors]", "scissors": "[rock]"}
    expected = _habit(table, chance)
    return chance.choice(legal) if expected is None else beaten_by[expected]


def _habit(table: Table, chance: Random) -> str | None:
    """The other seat's most frequent choice; None before the first."""
    counts = Counter(past[1 - table.turn] for past in table.engine.state.game_state["history"])
    most = [choice for choice, count in counts.items() if count == max(counts.values())]
    return chance.choice(most) if most else None


def _two_thirds(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Names the least number: of two guesses the lower one is always the closer."""
    return legal[0]


def _memory_game(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Turns up a pair that everybody has been told of, else any two cards."""
    seen: dict[str, str] = {}
    for _, said in table.engine.state.logs:
        if found := _TURNED.search(said):
            first, second, mark, other = found.groups()
            seen |= {first: mark, second: other}
    known = [move for move in legal if (pair := _cards(move))[0] in seen and seen[pair[0]] == seen.get(pair[1])]
    return chance.choice(known or legal)


_TURNED = re.compile(r"Cards at positions \[(\d+ \d+)\] and \[(\d+ \d+)\] are (\S) and (\S) respectively")


def _cards(move: str) -> tuple[str, str]:
    a, b, c, d = move[1:-1].split()
    return f"{a} {b}", f"{c} {d}"


def _trick(table: Table, legal: tuple[str, ...], chance: Random) -> str:
    """Takes a trick with the cheapest card that does; leads its best, and otherwise gives its worst away.

    In Briscola it leads its worst, and takes with a trump only what is worth a trump.
    """
    state, engine = table.engine.state.game_state, table.engine
    hand = state["players"][table.turn]["hand"]
    cards = {move: hand[int(move.removeprefix("[play ").removesuffix("]")) - 1] for move in legal}

    def cost(move: str) -> tuple[int, bool, int]:
        card = cards[move]
        return card.get("points", 0), card["suit"] == state["trump_suit"], card["power"]

    counted = "points_won" in state
    if not state["current_trick"]:
        return min(legal, key=cost) if counted else max(legal, key=lambda move: cards[move]["power"])
    led = state["current_trick"][0]

    def takes(move: str) -> bool:
        trick = [led, (table.turn, cards[move])]
        return bool(engine._determine_trick_winner(trick, state["trump_suit"])[0] == table.turn)

    good = [
        move
        for move in legal
        if takes(move) and (not counted or cards[move]["suit"] != state["trump_suit"] or led[1]["points"] >= 10)
    ]
    return min(good or legal, key=lambda move: (cards[move]["suit"] == state["trump_suit"], *cost(move)))


_RULES: Mapping[str, Callable[[Table, tuple[str, ...], Random], str]] = {
    "Alquerque": _alquerque,
    "Battleship": _battleship,
    "Briscola": _trick,
    "ColonelBlotto": _blotto,
    "Crusade": _crusade,
    "GameOfPureStrategy": _pure_strategy,
    "GermanWhist": _trick,
    "IteratedMatchingPennies": _pennies,
    "IteratedRockPaperScissors": _rock_paper_scissors,
    "IteratedTwoThirdsAverage": _two_thirds,
    "KuhnPoker": _kuhn_poker,
    "LiarsDice": _liars_dice,
    "MemoryGame": _memory_game,
    "Othello": _othello,
    "PigDice": _pig_dice,
    "UltimateTicTacToe": _ultimate,
}
