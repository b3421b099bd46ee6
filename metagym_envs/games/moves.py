"""Legal moves of the games that list them, from the engine's state, in the words that the engine reads."""

from __future__ import annotations

import itertools
import math
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


def alquerque(env: Any) -> list[str]:
    """Steps forward to an empty point, and jumps over one piece of the other side."""
    seat, size, board = env.state.current_player_id, env.BOARD_N, env.state.game_state["board"]
    found = []
    for row, column in _cells(size):
        if board[row][column] != "RB"[seat]:
            continue
        for down, right in env.neighbours:
            near, far = (row + down, column + right), (row + 2 * down, column + 2 * right)
            if (down, right) in env.forward_dirs[seat] and _empty_at(board, near):
                found.append(f"[{_square(row, column, size)} {_square(*near, size)}]")
            elif _empty_at(board, far) and board[near[0]][near[1]] == "BR"[seat]:
                found.append(f"[{_square(row, column, size)} {_square(*far, size)}]")
    return found


def _cells(size: int) -> list[tuple[int, int]]:
    return [(row, column) for row in range(size) for column in range(size)]


def _empty_at(board: Any, cell: tuple[int, int]) -> bool:
    return all(0 <= place < len(board) for place in cell) and board[cell[0]][cell[1]] == ""


def _square(row: int, column: int, size: int) -> str:
    return f"{chr(ord('a') + column)}{size - row}"


def battleship(env: Any) -> list[str]:
    """The squares that have not been fired upon."""
    tracking = env.state.game_state["tracking_board"][env.state.current_player_id]
    return [f"[{chr(ord('A') + row)}{column}]" for row, column in _cells(env.grid_size) if tracking[row][column] == "~"]


def briscola(env: Any) -> list[str]:
    """Any card of the hand, by its place."""
    return [f"[play {place}]" for place, _ in enumerate(_hand(env), start=1)]


def german_whist(env: Any) -> list[str]:
    """The cards that follow suit, or any where there is none to follow with."""
    seat = env.state.current_player_id
    return [f"[play {place}]" for place, card in enumerate(_hand(env), start=1) if env._is_valid_play(seat, card)]


def _hand(env: Any) -> list[dict[str, Any]]:
    hand: list[dict[str, Any]] = env.state.game_state["players"][env.state.current_player_id]["hand"]
    return hand


def chopsticks(env: Any) -> list[str]:
    """Attacks between hands that are alive, and every other way to hold one's fingers."""
    seat, hands = env.state.current_player_id, env.state.game_state["hands"]
    attacks = [
        f"[attack {own} {other}]" for own in (0, 1) for other in (0, 1) if hands[seat][own] and hands[1 - seat][other]
    ]
    total = sum(hands[seat])
    return attacks + [f"[split {left} {total - left}]" for left in range(total + 1) if left != hands[seat][0]]


def colonel_blotto(env: Any) -> list[str]:
    """Every way to share the units out among the fields."""
    *first, last = env.field_names
    found = []
    for shares in itertools.product(range(env.num_total_units + 1), repeat=len(first)):
        if (left := env.num_total_units - sum(shares)) >= 0:
            parts = [*zip(first, shares, strict=True), (last, left)]
            found.append(f"[{' '.join(f'{name}{units}' for name, units in parts)}]")
    return found


def crusade(env: Any) -> list[str]:
    """Knight's moves to squares without a piece of one's own."""
    return list(env._legal_moves_for_player(env.state.current_player_id))


def game_of_pure_strategy(env: Any) -> list[str]:
    """The cards of the hand."""
    return [f"[{env._val_to_face(card)}]" for card in env.state.game_state["player_hands"][env.state.current_player_id]]


def matching_pennies(env: Any) -> list[str]:
    """Heads or tails."""
    return ["[heads]", "[tails]"]


def rock_paper_scissors(env: Any) -> list[str]:
    """The three of them."""
    return ["[rock]", "[paper]", "[scissors]"]


def two_thirds_average(env: Any) -> list[str]:
    """The whole numbers of the range; numbers between them are played as well."""
    return [f"[{number}]" for number in range(math.ceil(env.min_guess), math.floor(env.max_guess) + 1)]


def memory_game(env: Any) -> list[str]:
    """Every pair of cards that are still face down."""
    matched = env.state.game_state["matched_positions"]
    hidden = [cell for cell in _cells(env.grid_size) if cell not in matched]
    return [f"[{a} {b} {c} {d}]" for (a, b), (c, d) in itertools.combinations(hidden, 2)]


def simple_tak(env: Any) -> list[str]:
    """The empty cells."""
    board = env.state.game_state["board"]
    return [f"[{cell}]" for cell, (row, column) in env.cell_mapping.items() if board[row][column] == ""]


def ultimate_tic_tac_toe(env: Any) -> list[str]:
    """The empty squares of the board that the last move leads to, or of all boards in play where that one is closed."""
    state = env.state.game_state
    return [
        f"[{board} {3 * row + column}]"
        for board in range(9)
        if state["next_micro_board"] in (None, board) and state["macro_board"][board // 3][board % 3] == " "
        for row, column in _cells(3)
        if state["board"][board][row][column] == " "
    ]
