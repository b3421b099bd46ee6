"""The suite ``games``: win rates against scripted opponents and between models, in paired seats.

Every start of a game for two is a task of each seat, so that who begins favours nobody. With ``between`` every model
also meets every other model; `metagym.runs.elo` rates all players of a run from these games.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metagym.chat.specs import parse_spec
from metagym.checks import texts
from metagym.errors import BadInput
from metagym.evaluation.benchmarks import Benchmark, Sampling, Suite
from metagym.evaluation.card import UNSAMPLED

if TYPE_CHECKING:
    from metagym.evaluation.run import Entrant

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
    entrants: Sequence[Entrant] | None = None,
) -> Suite:
    """TextArena's games: puzzles, and games for two against scripted opponents and other models.

    Args:
        games: Games of two seats, a list or comma-separated; None takes `FOR_TWO`, "" none.
        puzzles: Games of one seat; None takes `PUZZLES`, "" none.
        opponents: Of `SCRIPTED`, or specs of models; "" for none.
        size: Starts of each game; each is played from both seats.
        between: Every model also meets every other model of the run.
        entrants: The run's models; whoever plays the suite hands them in.

    Raises:
        BadInput: `between` is asked for, and there is no model that could sit in the other seat; or two opponents would
            share a name.
    """
    twos, ones = _names("games", games, FOR_TWO), _names("puzzles", puzzles, PUZZLES)
    others = _opponents(_names("opponents", opponents, SCRIPTED), tuple(entrants or ()) if between else None)
    benchmarks = [
        Benchmark(
            f"{game.lower()}-vs-{one.name}",
            FAMILY,
            {"games": [game], "opponent": one.spec, "seat": "both", "size": size, "opponent_max_tokens": MAX_TOKENS},
            split="test",
            sampling=Sampling(0.0, MAX_TOKENS),
            not_for=one.same,
            places=(),  # here `games` is a choice, and no place on a machine
            title=f"{game} vs {one.name}",
            source=SOURCE,
        )
        for game in twos
        for one in others
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


@dataclass(frozen=True)
class _Opponent:
    """Who sits in the other seat.

    Attributes:
        spec: A script or a model.
        name: In the names of benchmarks.
        same: Entrants that are the very same player.
    """

    spec: str
    name: str
    same: tuple[str, ...] = ()


def _opponents(named: Sequence[str], entrants: Sequence[Entrant] | None) -> list[_Opponent]:
    """Scripts and models that were named, then the run's own models; each once."""
    found: list[_Opponent] = []
    chatting = [one for one in entrants or () if parse_spec(one.model).scheme not in UNSAMPLED]
    if entrants is not None and not chatting:
        raise BadInput("between=true needs a model that can sit in the other seat: --model name=SPEC of a chat model")
    own = dict.fromkeys(one.model for one in chatting)
    for spec in dict.fromkeys([*named, *own]):
        # A model in the other seat has no system prompt, so an entrant under one is another player.
        same = tuple(one.name for one in chatting if one.model == spec and one.prompt is None)
        name = called = _called(same[0] if same else spec)
        number, taken = 1, [one.name for one in found]
        if same and name in taken:
            raise BadInput(f"two opponents would be called {name!r}: name the model otherwise, as in --model name=SPEC")
        while name in taken:  # one model at two addresses
            number += 1
            name = f"{called}-{number}"
        found.append(_Opponent(spec, name, same))
    return found


def _called(opponent: str) -> str:
    """How an opponent stands in the name of a benchmark."""
    kept = "".join(
        sign if sign.isascii() and sign.isalnum() or sign in "._+@:=-" else "-" for sign in opponent.partition("?")[0]
    )
    return kept.strip("-.")[:40] or "opponent"


def _names(what: str, given: Sequence[str] | str | None, default: Sequence[str]) -> list[str]:
    return [name for name in texts(what, default if given is None else given) if name]


def opponent_of(benchmark: Benchmark) -> Any:
    """Who sits in the other seat of a benchmark; None where nobody does."""
    return benchmark.options.get("opponent") if benchmark.family == FAMILY else None
