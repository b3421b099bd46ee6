"""Ratings of players from games between them: the Bradley-Terry model on Elo's scale, with bootstrapped intervals.

A player of rating r beats one of rating s with probability 1 / (1 + 10 ** ((s - r) / 400)); a draw counts as half a win
on both sides. All games are fitted at once, so that their order plays no part. Sources: Bradley & Terry (1952),
*Biometrika* 39, 324-345; Elo's scale of 400; Efron & Tibshirani (1993), chapter 13, for the percentile bootstrap.

Whoever wins all games has no finite rating: every player gets one drawn game against a phantom of the mean rating, a
weak prior that keeps ratings finite. It moves a rating by a few points where there are dozens of games.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from metagym.errors import BadInput
from metagym.seeding import rng
from metagym.stats import CONFIDENCE

MEAN = 1000.0
"""Mean rating of the players, by convention: differences alone mean something."""

PRIOR = 1.0
"""Drawn games of every player against the phantom."""

RESAMPLES = 999

_STEPS = 200  # of Newton's method, which takes about ten
_LONGEST = 2.0  # step of a log-strength: further away the curvature tells too little
_PRECISION = 1e-10
_ELO = 400.0 / math.log(10.0)

Table = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Game:
    """One game.

    Attributes:
        a: A player.
        b: The other one.
        score: What `a` made of it: 1 won, 0.5 drawn, 0 lost.
        cluster: What games of one start share: the games of both seats are no independent draws.
    """

    a: str
    b: str
    score: float
    cluster: str

    def __post_init__(self) -> None:
        """Checks the score.

        Raises:
            BadInput: It is none, or a player plays against itself.
        """
        if self.score not in (0.0, 0.5, 1.0):
            raise BadInput(f"the score of a game is 0, 0.5 or 1, got {self.score!r}")
        if self.a == self.b:
            raise BadInput(f"{self.a!r} plays against itself, which tells nothing of its strength")


@dataclass(frozen=True)
class Rating:
    """A player's strength.

    Attributes:
        player: Name.
        elo: Rating; the mean over the players is `MEAN`.
        low: Lower end of the 95 % interval (percentile bootstrap over starts); None with fewer than two starts.
        high: Upper end.
        games: Games played.
        wins: Games won.
        draws: Games drawn.
    """

    player: str
    elo: float
    low: float | None
    high: float | None
    games: int
    wins: int
    draws: int

    @property
    def losses(self) -> int:
        """Games lost."""
        return self.games - self.wins - self.draws

    def to_json(self) -> dict[str, Any]:
        """The rating as a JSON object."""
        return asdict(self)


def ratings(games: Sequence[Game], seed: int = 0, resamples: int = RESAMPLES) -> list[Rating]:
    """Rates the players of games, best first.

    Args:
        games: In any order.
        seed: Decides the bootstrap's resampling.
        resamples: Number of bootstrap samples, >= 1.

    Raises:
        BadInput: There is no game, or the players fall into groups that never met: their ratings do not compare.
    """
    if not games:
        raise BadInput("ratings need at least one game")
    players = sorted({name for game in games for name in (game.a, game.b)})
    _check_connected(players, games)
    place = {name: number for number, name in enumerate(players)}
    starts = {name: number for number, name in enumerate(sorted({game.cluster for game in games}))}
    # Of each start: points that one player (row) took from another (column).
    points = np.zeros((len(starts), len(players), len(players)))
    for game in games:
        points[starts[game.cluster], place[game.a], place[game.b]] += game.score
        points[starts[game.cluster], place[game.b], place[game.a]] += 1.0 - game.score
    fitted = _fit(points.sum(axis=0))
    drawn: list[Table] = []
    if len(starts) > 1:
        chance, numbers = rng(seed, "elo"), range(len(starts))
        for _ in range(resamples):
            times = np.bincount(chance.choices(numbers, k=len(starts)), minlength=len(starts))
            drawn.append(_fit(np.tensordot(times, points, axes=1)))
    found = [_rating(name, float(fitted[n]), [float(one[n]) for one in drawn], games) for name, n in place.items()]
    return sorted(found, key=lambda one: (-one.elo, one.player))


def expected(elo_a: float, elo_b: float) -> float:
    """The score that a player of rating a is expected to make against one of rating b, in (0, 1)."""
    return 1.0 / (1.0 + 10.0 ** ((elo_b - elo_a) / 400.0))


def _fit(points: Table) -> Table:
    """Ratings of most likelihood with the prior: Newton's method on log-strengths, of which the phantom's is 0."""
    met = points + points.T
    won = points.sum(axis=1) + PRIOR / 2
    theta = np.zeros(len(points))
    for _ in range(_STEPS):
        wins = 1.0 / (1.0 + np.exp(theta[None, :] - theta[:, None]))
        alone = 1.0 / (1.0 + np.exp(-theta))
        slope = won - (met * wins).sum(axis=1) - PRIOR * alone
        between = met * wins * (1.0 - wins)
        curvature = np.diag(between.sum(axis=1) + PRIOR * alone * (1.0 - alone)) - between
        step = np.linalg.solve(curvature, slope)
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), _PRECISION))
        theta = theta + step
        if float(np.abs(step).max()) < _PRECISION:
            break
    found: Table = _ELO * (theta - theta.mean()) + MEAN
    return found


def _rating(name: str, elo: float, drawn: Sequence[float], games: Sequence[Game]) -> Rating:
    scores = [g.score if g.a == name else 1.0 - g.score for g in games if name in (g.a, g.b)]
    low = high = None
    if drawn:
        ordered = sorted(drawn)
        tail = (1 - CONFIDENCE) / 2
        low, high = _quantile(ordered, tail), _quantile(ordered, 1 - tail)
    return Rating(name, elo, low, high, len(scores), scores.count(1.0), scores.count(0.5))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _check_connected(players: Sequence[str], games: Sequence[Game]) -> None:
    near: dict[str, set[str]] = {name: set() for name in players}
    for game in games:
        near[game.a].add(game.b)
        near[game.b].add(game.a)
    reached, pending = set(), [players[0]]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += near[name]
    if apart := sorted(set(players) - reached):
        raise BadInput(
            f"{apart[0]} never met {players[0]}, not even by way of others: their ratings do not compare; give them a "
            "common opponent"
        )
