"""Small grids for the stand-ins: cells by row and column, ways around what blocks them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

Cell = tuple[int, int]
MOVES: Mapping[str, Cell] = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}


def first_steps(
    start: Cell, goal: Cell, step: Callable[[Cell, str], Cell | None], moves: tuple[str, ...] = tuple(MOVES)
) -> tuple[str, ...]:
    """The moves that begin a shortest way.

    Args:
        start: Where one stands.
        goal: Where to go.
        step: ``(cell, move) -> cell``; None where the move is not to be made.
        moves: Their names.

    Returns:
        One or several moves; () where there is no way, or one is there.
    """
    distance = {goal: 0}
    queue = deque([goal])
    backwards: dict[Cell, list[Cell]] = {}
    seen, todo = {start}, deque([start])
    while todo:  # all cells that can be reached, and from where
        cell = todo.popleft()
        for move in moves:
            after = step(cell, move)
            if after is None or after == cell:
                continue
            backwards.setdefault(after, []).append(cell)
            if after not in seen:
                seen.add(after)
                todo.append(after)
    while queue:
        cell = queue.popleft()
        for before in backwards.get(cell, ()):
            if before not in distance:
                distance[before] = distance[cell] + 1
                queue.append(before)
    if start not in distance or start == goal:
        return ()
    ahead = {move: step(start, move) for move in moves}
    return tuple(
        move for move, cell in ahead.items() if cell is not None and distance.get(cell, -1) == distance[start] - 1
    )
