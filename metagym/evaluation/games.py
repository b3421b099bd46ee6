"""The suite ``games``: win rates against scripted opponents and between models, in paired seats.

Every start of a game for two is a task of each seat, so that who begins favours nobody. With ``between`` every model
also meets every model, itself included (its score there is a check: about half, but for who begins); `metagym.runs.elo`
rates all players of a run from these games.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metagym.errors import BadInput
from metagym.evaluation.benchmarks import Benchmark, Sampling, Suite

FOR_TWO = ("TicTacToe", "ConnectFour", "KuhnPoker", "LiarsDice")
"""Games of two seats that are played by default."""
PUZZLES = ("Sokoban", "FrozenLake", "Minesweeper", "TowerOfHanoi", "Mastermind", "Sudoku")
"""Games of one seat that are played by default."""
SCRIPTED = ("random", "careful")
"""Scripted opponents, by the names of the family Games."""

FAMILY = "Games"
SOURCE = "TextArena (arXiv 2504.11442)"
MAX_TOKENS = 4096


def games(
    games: Sequence[str] | str | None = None,
    puzzles: Sequence[str] | str | None = None,
    opponents: Sequence[str] | str = SCRIPTED,
    size: int = 10,
    between: bool = False,
    entrants: Mapping[str, str] | None = None,
) -> Suite:
    """TextArena's games: puzzles, and games for two against scripted opponents and other models.

    Args:
        games: Games of two seats, a list or comma-separated; None takes `FOR_TWO`, "" none.
        puzzles: Games of one seat; None takes `PUZZLES`, "" none.
        opponents: Of `SCRIPTED`, or specs of models; "" for none.
        size: Starts of each game; each is played from both seats.
        between: Every model also meets every model of the run.
        entrants: Names and specs of the run's models; whoever plays the suite hands them in.

    Raises:
        BadInput: `between` is asked for, and there is no model that could sit in the other seat.
    """
    twos, ones = _names(games, FOR_TWO), _names(puzzles, PUZZLES)
    others = {_called(one): one for one in _names(opponents, SCRIPTED)}
    if between:
        sitting = {name: spec for name, spec in (entrants or {}).items() if spec not in ("rules", *SCRIPTED)}
        if not sitting:
            raise BadInput(
                "between=true needs a model that can sit in the other seat: --model name=SPEC of a chat model"
            )
        others |= sitting
    benchmarks = [
        Benchmark(
            f"{game.lower()}-vs-{name}",
            FAMILY,
            {"games": [game], "opponent": spec, "seat": "both", "size": size, "opponent_max_tokens": MAX_TOKENS},
            split="test",
            sampling=Sampling(0.0, MAX_TOKENS),
            places=(),  # here `games` is a choice, and no place on a machine
            title=f"{game} vs {name}",
            source=SOURCE,
        )
        for game in twos
        for name, spec in others.items()
    ]
    benchmarks += [
        Benchmark(
            game.lower(),
            FAMILY,
            {"games": [game], "size": size},
            split="test",
            sampling=Sampling(0.0, MAX_TOKENS),
            places=(),
            title=game,
            source=SOURCE,
        )
        for game in ones
    ]
    return Suite("games", "Games", tuple(benchmarks))


def _called(opponent: str) -> str:
    """How an opponent stands in the name of a benchmark."""
    kept = "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in opponent.partition("?")[0])
    return kept.strip("-.")[:40] or "opponent"


def _names(given: Sequence[str] | str | None, default: Sequence[str]) -> list[str]:
    if given is None:
        return list(default)
    names = given.split(",") if isinstance(given, str) else list(given)
    return [name.strip() for name in names if name.strip()]


def opponent_of(benchmark: Benchmark) -> Any:
    """Who sits in the other seat of a benchmark; None where nobody does."""
    return benchmark.options.get("opponent") if benchmark.family == FAMILY else None
