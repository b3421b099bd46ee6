"""The native engine against the real one, live: resets, intros, whole answers, walks and sweeps."""

from __future__ import annotations

import itertools

import pytest

from tests.envs.alfworld.engine.differential import Comparison, compare
from tests.envs.alfworld.golden.games import Sample, by_hand, generated, published

pytestmark = pytest.mark.needs_alfworld
BOTH = ("walk", "sweep")


@pytest.fixture(scope="module")
def twelve(request) -> list[Sample]:
    """Four games made by hand, and eight others: published ones where they are at hand, some generated ones."""
    own = list(generated(20, 28))
    try:
        real = published(request.getfixturevalue("shared_dir"))[:4]
    except pytest.skip.Exception:
        return [*by_hand(), *own]
    return [*by_hand(), *real, *own[:4]]


def none_differs(result: Comparison, games: int, answers: int) -> None:
    assert result.mismatches == []
    assert (result.games, result.answers >= answers) == (games, True)


def test_twelve_games_walk_and_sweep(real_engine, twelve):
    none_differs(compare(twelve, BOTH), 12, 3000)


@pytest.mark.parametrize("generation", ["legacy", "0.3"])
def test_earlier_generations(real_engine, generation):
    none_differs(compare(by_hand(), BOTH, generation=generation), 4, 900)


def test_the_engine_as_shipped_says_the_same(real_engine):
    none_differs(compare(by_hand()[1:2], ("sweep",), shipped=True, most=40), 1, 40)


def test_two_real_games_share_the_engine_in_turns(real_engine):
    """Each loads its own again and repeats its commands: slow, but never another game's answer."""
    from metagym_envs.alfworld.engine import Game
    from tests.envs.alfworld.engine.differential import real_game
    from tests.envs.alfworld.golden.scripts import answer, follow

    pairs = [(real_game(s), follow(Game.compile(s.problem, s.task), "walk", s.name, steps=3)) for s in by_hand()[:2]]
    compared = 0
    for _ in range(5):
        for real, steps in pairs:
            command, seen = next(steps)
            assert answer(real.reset() if command is None else real.step(command)) == answer(seen)
            compared += 1
    assert compared == 10


@pytest.mark.slow
def test_all_published_games(real_engine, shared_dir):
    none_differs(compare(published(shared_dir), BOTH), 474, 300_000)


@pytest.mark.slow
def test_a_thousand_generated_games(real_engine):
    none_differs(compare(generated(0, 1000), BOTH), 1000, 200_000)


@pytest.mark.slow
def test_published_games_in_their_own_generation(real_engine, shared_dir):
    none_differs(compare(itertools.islice(published(shared_dir), 100), ("walk",), generation="legacy"), 100, 6000)


@pytest.mark.slow
def test_spot_check_against_the_engine_as_shipped(real_engine, shared_dir):
    games = [*published(shared_dir)[:4], *generated(0, 2)]
    none_differs(compare(games, BOTH, shipped=True, most=120), 6, 600)


@pytest.mark.parametrize(
    "task",
    [
        "put  two",
        "it's (a) cup, isn't it? 100%!",
        "caf\u00e9 \u2615 ~ $x *y* a/b // c",
        " lead",
        "trail ",
        "a.b: c",
        "& = + - _",
    ],
)
def test_odd_task_sentences_read_alike(real_engine, task):
    sample = Sample("odd", by_hand()[3].problem, task)
    none_differs(compare([sample], ("walk",), steps=0, after=0), 1, 1)
