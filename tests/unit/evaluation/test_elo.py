"""Ratings: the likelihood's maximum, whatever the order of the games, with intervals that cover."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput
from metagym.evaluation.elo import MEAN, PRIOR, Game, expected, ratings

PLAYERS = "abcd"
SCORES = st.sampled_from([0.0, 0.5, 1.0])
PAIRS = st.sampled_from([(x, y) for x in PLAYERS for y in PLAYERS if x < y])
CHAIN = [Game(x, y, 0.5, f"link{x}") for x, y in zip(PLAYERS, PLAYERS[1:], strict=False)]
GAMES = st.lists(st.builds(lambda pair, score, start: Game(*pair, score, str(start)), PAIRS, SCORES, st.integers(0, 5)))


def elo_of(games: list[Game], **options: int) -> dict[str, float]:
    return {one.player: one.elo for one in ratings(games, **{"resamples": 1, **options})}


def test_a_share_of_wins_becomes_elo_s_difference() -> None:
    """1,000 wins of 1,500 with a share of two thirds: 400 log10(2) apart, but for the prior."""
    games = [Game("a", "b", float(n % 3 > 0), str(n)) for n in range(1500)]
    found = elo_of(games)
    assert found["a"] - found["b"] == pytest.approx(400 * math.log10(2), abs=0.5)
    assert expected(found["a"], found["b"]) == pytest.approx(2 / 3, abs=1e-3)
    assert (found["a"] + found["b"]) / 2 == pytest.approx(MEAN)


@settings(max_examples=40, deadline=None)
@given(GAMES)
def test_the_fit_balances_what_was_won_against_what_was_expected(drawn: list[Game]) -> None:
    """The likelihood's maximum: for each player, points won equal points expected, the phantom's game included."""
    games = [*CHAIN, *drawn]
    found = elo_of(games)
    # The phantom's rating: 0 before the shift; the shift is the same for all, so find it from one player's balance.
    low, high = MEAN - 4000, MEAN + 4000
    for _ in range(200):
        middle = (low + high) / 2
        surplus = sum(PRIOR * (0.5 - expected(value, middle)) for value in found.values())
        low, high = (middle, high) if surplus < 0 else (low, middle)
    for name, own in found.items():
        won = PRIOR / 2 + sum(g.score if g.a == name else 1 - g.score for g in games if name in (g.a, g.b))
        hoped = PRIOR * expected(own, middle) + sum(
            expected(own, found[g.b if g.a == name else g.a]) for g in games if name in (g.a, g.b)
        )
        assert won == pytest.approx(hoped, abs=1e-5)


@settings(max_examples=20, deadline=None)
@given(GAMES, st.randoms(use_true_random=False))
def test_neither_order_nor_sides_play_a_part(drawn: list[Game], chance: random.Random) -> None:
    games = [*CHAIN, *drawn]
    turned = [Game(g.b, g.a, 1 - g.score, g.cluster) if chance.random() < 0.5 else g for g in games]
    chance.shuffle(turned)
    first, second = ratings(games, resamples=20), ratings(turned, resamples=20)
    assert [one.player for one in first] == [one.player for one in second]
    assert [(o.games, o.wins, o.draws, o.losses) for o in first] == [
        (o.games, o.wins, o.draws, o.losses) for o in second
    ]
    for one, other in zip(first, second, strict=True):
        assert one.elo == pytest.approx(other.elo, abs=1e-6)


def test_who_wins_everything_has_a_finite_rating() -> None:
    found = ratings([Game("a", "b", 1.0, str(n)) for n in range(50)])
    assert [one.player for one in found] == ["a", "b"]
    assert 300 < found[0].elo - found[1].elo < 2000
    assert (found[0].wins, found[0].losses, found[1].wins) == (50, 0, 0)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    """Both seats of a start share its luck: bootstrapping single games would make intervals that are too narrow."""
    truth = 400 * math.log10(0.7 / 0.3)
    chance, covered, rounds = random.Random(1), 0, 80
    for _ in range(rounds):
        games = []
        for start in range(40):
            score = float(chance.random() < 0.7)
            games += [Game("a", "b", score, str(start)), Game("b", "a", 1 - score, str(start))]
        a, b = sorted(ratings(games, resamples=99), key=lambda one: one.player)
        assert a.low is not None and a.high is not None
        covered += a.low <= MEAN + truth / 2 <= a.high
    assert 0.85 <= covered / rounds <= 1.0


def test_one_start_bounds_nothing() -> None:
    assert all(one.low is None and one.high is None for one in ratings([Game("a", "b", 1.0, "s")]))


def test_players_that_never_met_are_refused() -> None:
    with pytest.raises(BadInput, match="c never met a, not even by way of others"):
        ratings([Game("a", "b", 1.0, "1"), Game("c", "d", 1.0, "2")])
    with pytest.raises(BadInput, match="at least one game"):
        ratings([])


@pytest.mark.parametrize(("players", "score"), [(("a", "a"), 1.0), (("a", "b"), 0.7), (("a", "b"), float("nan"))])
def test_what_is_no_game_is_refused(players: tuple[str, str], score: float) -> None:
    with pytest.raises(BadInput):
        Game(*players, score, "s")
