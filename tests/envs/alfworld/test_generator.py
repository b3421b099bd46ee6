"""Our own games: the same everywhere, never won at the start, won by their walkthrough in both engines."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput, UnknownName
from metagym_envs.alfworld import generator, scenes
from metagym_envs.alfworld.engine import Game, Player
from metagym_envs.alfworld.expert import aim_of
from metagym_envs.alfworld.generator import SPLITS, generate, make_scene
from metagym_envs.alfworld.scenes import TASK_TYPES

DIGEST = "5073d4aa15b73656"
_PRINT_DIGEST = "from tests.envs.alfworld.test_generator import digest; print(digest())"


def digest() -> str:
    """Over two games of each split and type: changes with any byte of them."""
    found = hashlib.sha256()
    for split in SPLITS:
        for task_type in TASK_TYPES:
            for index in (0, 599):
                game = generate(split, task_type, index)
                found.update(repr((game.name, game.problem, game.sentence, game.walkthrough)).encode())
    return found.hexdigest()[:16]


def walk(player, game) -> None:
    """Plays the walkthrough; every command is legal, and the last one alone wins."""
    answer = player.reset()
    for command in game.walkthrough:
        assert not answer.won, game.name
        assert command in answer.admissible, (game.name, command)
        answer = player.step(command)
    assert answer.won and answer.score == 1 and answer.done, game.name


def games(count):
    return [generate(s, t, i) for i in range(count) for s in SPLITS for t in TASK_TYPES]


def test_pinned_bytes():
    """A changed game under an unchanged generator name would make old records lie: change the name, then the pin."""
    assert generator.GENERATOR == "metagym-household-1"
    assert digest() == DIGEST


@pytest.mark.parametrize("hash_seed", ["1", "99"])
def test_same_bytes_under_another_hash_seed(hash_seed):
    done = subprocess.run(
        [sys.executable, "-c", _PRINT_DIGEST],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == DIGEST


def test_walkthrough_wins_in_the_native_engine():
    for game in games(20):
        walk(Player(Game.compile(game.problem, game.sentence)), game)


@pytest.mark.slow
def test_walkthrough_wins_in_the_native_engine_thousands():
    for game in games(200):
        walk(Player(Game.compile(game.problem, game.sentence)), game)


@pytest.mark.needs_alfworld
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_walkthrough_wins_in_the_real_engine(task_type):
    judge = pytest.importorskip("metagym_envs.alfworld.judge")
    pytest.importorskip("textworld", reason="needs the real engine: pip install 'metagym-agents[alfworld]'")
    game = generate("valid_unseen", task_type, 3)
    walk(judge.TextWorldGame.compile(game.problem, game.sentence), game)


@pytest.mark.slow
@pytest.mark.needs_alfworld
def test_walkthrough_wins_in_the_real_engine_many():
    judge = pytest.importorskip("metagym_envs.alfworld.judge")
    pytest.importorskip("textworld", reason="needs the real engine: pip install 'metagym-agents[alfworld]'")
    for game in games(10):
        walk(judge.TextWorldGame.compile(game.problem, game.sentence), game)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SPLITS)), st.sampled_from(TASK_TYPES), st.integers(0, 10**9))
def test_any_index_is_a_sound_game(split, task_type, index):
    game = generate(split, task_type, index)
    assert game == generate(split, task_type, index)
    compiled = Game.compile(game.problem, game.sentence)
    aim = aim_of(compiled)
    assert aim.object_type == f"{game.params['object_target'].lower()}type"
    assert (aim.target_type or aim.lamp_type) == (
        f"{(game.params['parent_target'] or game.params['toggle_target']).lower()}type"
    )
    assert aim.count == scenes.TASKS[task_type].count
    walk(Player(compiled), game)


def test_scenes_of_the_splits_are_disjoint():
    numbers = [set(r) for r in SPLITS.values()]
    assert sum(map(len, numbers)) == len(set().union(*numbers))
    layouts = {}
    for split, scene_numbers in SPLITS.items():
        for room in scenes.ROOMS:
            for number in scene_numbers:
                scene = make_scene(room, number)
                assert layouts.setdefault(scene.receptacles, (split, room, number)) == (split, room, number)
    assert {g.params["scene"] for g in games(40) if g.split == "train"}.isdisjoint(
        g.params["scene"] for g in games(40) if g.split != "train"
    )


def test_games_differ():
    made = games(100)
    assert len({game.problem.split("\n", 1)[1] for game in made}) == len(made)


def test_any_room_can_be_searched_within_the_step_cap():
    for room in scenes.ROOMS:
        for number in range(120):
            cost = sum(1 + (kind in scenes.OPENABLE) for _, kind, _ in make_scene(room, number).receptacles)
            assert cost <= 40


def test_every_task_type_and_room_occurs():
    made = games(60)
    for task_type, task in scenes.TASKS.items():
        assert {g.params["room"] for g in made if g.type == task_type} == set(task.rooms)


@pytest.mark.parametrize("index", [-1, True, 1.0, "1", None])
def test_bad_index(index):
    with pytest.raises(BadInput, match="non-negative integer"):
        generate("train", TASK_TYPES[0], index)


def test_unknown_names():
    with pytest.raises(UnknownName, match="valid_seen"):
        generate("test", TASK_TYPES[0], 0)
    with pytest.raises(UnknownName, match="pick_two_obj_and_place"):
        generate("train", "pick_three", 0)
