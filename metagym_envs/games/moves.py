"""Legal moves of the games that list them, from the engine's state, in the words that the engine reads."""

from __future__ import annotations

from typing import Any

DIRECTIONS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def tic_tac_toe(env: Any) -> list[str]:
    """The empty cells, row by row."""
    return [f"[{cell}]" for cell in _empty(env)]


def wild_tic_tac_toe(env: Any) -> list[str]:
    """Either mark in any empty cell."""
    return [f"[{mark} {cell}]" for cell in _empty(env) for mark in "XO"]


def _empty(env: Any) -> list[int]:
    board = env.state.game_state["board"]
    return [3 * row + column for row in range(3) for column in range(3) if board[row][column] == ""]


def connect_four(env: Any) -> list[str]:
    """The columns that are not full."""
    return [f"[col {column}]" for column, mark in enumerate(env.state.game_state["board"][0]) if mark == "."]


def nim(env: Any) -> list[str]:
    """Any number from any pile."""
    piles = env.state.game_state["piles"]
    return [f"[{pile} {taken}]" for pile, size in enumerate(piles) for taken in range(1, size + 1)]


def othello(env: Any) -> list[str]:
    """The cells that turn something over; where there is none, the turn is passed."""
    cells = env._valid_moves("B" if env.state.current_player_id == 0 else "W")
    return [f"[{row}, {column}]" for row, column in cells] or ["[pass]"]


def kuhn_poker(env: Any) -> list[str]:
    """What the betting allows."""
    return [f"[{move}]" for move in env.state.game_state["current_legal_action_tree"]]


def liars_dice(env: Any) -> list[str]:
    """A call, and the higher bids up to all dice of the table."""
    state = env.state.game_state
    quantity, face = state["current_bid"]["quantity"], state["current_bid"]["face_value"]
    bids = [
        f"[Bid: {more}, {higher}]"
        for more in range(max(1, quantity), sum(state["remaining_dice"].values()) + 1)
        for higher in range(max(1, face), 7)
        if (more, higher) != (quantity, face)
    ]
    return (["[Call]"] if quantity else []) + bids


def pig_dice(env: Any) -> list[str]:
    """Roll or hold."""
    return ["[roll]", "[hold]"]


def frozen_lake(env: Any) -> list[str]:
    """The ways that do not lead off the lake."""
    row, column = env.state.game_state["player_pos"]
    return [
        f"[{name}]"
        for name, (down, right) in DIRECTIONS.items()
        if 0 <= row + down < env.size and 0 <= column + right < env.size
    ]


def sokoban(env: Any) -> list[str]:
    """The ways that are free or hold a box that can be pushed."""
    return [f"[{name}]" for name in DIRECTIONS if not env._would_collide_with_wall(name)]


def twenty_forty_eight(env: Any) -> list[str]:
    """The ways that move a tile."""
    state, found = env.state.game_state, []
    kept = [list(row) for row in state["board"]]
    for number, name in enumerate(("Up", "Down", "Left", "Right")):
        if env._apply_move(number)[0]:
            found.append(f"[{name}]")
            state["board"] = [list(row) for row in kept]
    return found


def lights_out(env: Any) -> list[str]:
    """Every light."""
    return [f"[{row} {column}]" for row in range(env.size) for column in range(env.size)]


def minesweeper(env: Any) -> list[str]:
    """The covered cells."""
    return [
        f"[{row} {column}]" for row in range(env.rows) for column in range(env.cols) if not env.revealed[row][column]
    ]


def secretary(env: Any) -> list[str]:
    """Take it or see the next."""
    return ["[accept]", "[continue]"]


def tower_of_hanoi(env: Any) -> list[str]:
    """The top disks onto larger ones."""
    towers = env.state.game_state["towers"]
    return [
        f"[{one} {other}]"
        for one in towers
        for other in towers
        if one != other and towers[one] and (not towers[other] or towers[other][-1] > towers[one][-1])
    ]
