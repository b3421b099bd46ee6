"""Players: cheap to clone, hashable state, picklable, one game shared by threads, equal in every process."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from metagym.errors import EngineError
from metagym_envs.alfworld.engine import Game, Player
from tests.envs.alfworld.golden.games import Sample, by_hand, generated
from tests.envs.alfworld.golden.scripts import answer, follow, transcript

SAMPLES = [*by_hand(), *generated(0, 6)]
ROOT = Path(__file__).resolve().parents[4]


def compile_(sample: Sample) -> Game:
    return Game.compile(sample.problem, sample.task)


@pytest.fixture(params=SAMPLES, ids=lambda sample: sample.name)
def game(request) -> Game:
    return compile_(request.param)


def test_a_clone_goes_on_alike_and_apart(game):
    player, commands = Player(game), [command for command, _ in follow(game, "walk", "clone") if command is not None]
    for command in commands[:20]:
        player.step(command)
    key, twin = player.key(), player.clone()
    assert twin.key() == key and hash(twin.key()) == hash(key)
    first = [answer(twin.step(command)) for command in commands[20:]]
    assert player.key() == key  # untouched by what its clone did
    assert [answer(player.step(command)) for command in commands[20:]] == first
    assert player.key() == twin.key()


def test_players_of_equal_keys_answer_alike(game):
    """Whatever the way to a state: from equal keys, every admissible command brings the same answer."""
    met: dict[object, Player] = {}
    compared = 0
    player = Player(game)
    for command, _ in follow(game, "walk", "keys", steps=150):
        if command is not None:
            player.step(command)
        other = met.setdefault(player.key(), player.clone())
        legal = other.clone().step("look").admissible
        assert player.clone().step("look").admissible == legal
        for choice in legal[:: max(1, len(legal) // 5)]:
            assert answer(other.clone().step(choice)) == answer(player.clone().step(choice))
            compared += 1
    assert compared > len(met)


def test_a_reset_forgets_everything(game):
    player = Player(game)
    first, key = answer(player.reset()), player.key()
    for command, _ in follow(game, "sweep", "reset"):
        player.step(command or "look")
    assert answer(player.reset()) == first and player.key() == key


def test_game_and_player_survive_pickling(game):
    player = Player(game)
    commands = [command for command, _ in follow(game, "walk", "pickle") if command is not None]
    for command in commands[:25]:
        player.step(command)
    twin = pickle.loads(pickle.dumps(player))
    assert twin.key() == player.key() and twin.won == player.won
    assert [answer(twin.step(command)) for command in commands[25:]] == [
        answer(player.step(command)) for command in commands[25:]
    ]
    same = pickle.loads(pickle.dumps(game))
    assert transcript(same, "sweep", "pickle") == transcript(game, "sweep", "pickle")


def test_pickling_keeps_generation_and_help():
    sample = SAMPLES[0]
    legacy = pickle.loads(pickle.dumps(Game.compile(sample.problem, sample.task, "legacy")))
    assert legacy.generation == "legacy" and Player(legacy).step("help").feedback == "Nothing happens."
    other = pickle.loads(pickle.dumps(Game.compile(sample.problem, sample.task, help_text="Help yourself.")))
    assert Player(other).step("help").feedback == "Help yourself."


def test_a_late_look_at_the_admissible_commands_is_an_error(game):
    player = Player(game)
    early, late = player.reset(), player.step("look")
    assert late.admissible is late.admissible  # computed once
    with pytest.raises(EngineError, match="before the next step"):
        _ = early.admissible
    player.step("look")
    assert late.admissible  # was read in time


def test_a_game_cannot_be_changed(game):
    with pytest.raises(AttributeError):
        game.task = "another"
    assert not any(isinstance(value, (list, set)) for value in vars(game).values())


def test_eight_threads_on_one_game_give_equal_digests():
    games = [compile_(sample) for sample in SAMPLES]

    def play(_: int) -> list[object]:
        return [transcript(game, "sweep", "threads") for game in games]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(play, range(8)))
    assert all(result == results[0] for result in results)


def test_the_same_digests_under_every_hash_seed():
    program = (
        "from tests.envs.alfworld.golden.games import by_hand, generated\n"
        "from tests.envs.alfworld.golden.scripts import transcript\n"
        "from metagym_envs.alfworld.engine import Game\n"
        "for s in [*by_hand(), *generated(0, 6)]:\n"
        "    print(transcript(Game.compile(s.problem, s.task), 'sweep', 'hash'))\n"
    )
    printed = set()
    for seed in ("0", "1", "99"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        printed.add(done.stdout)
    here = "".join(f"{transcript(compile_(sample), 'sweep', 'hash')}\n" for sample in SAMPLES)
    assert printed == {here}


def test_the_engine_needs_none_of_the_real_one():
    program = (
        "import sys, metagym_envs.alfworld.engine\n"
        "print(sorted({'textworld', 'alfworld', 'fast_downward', 'tatsu', 'torch'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_s07_one_players_win_shows_nowhere_else():
    game = compile_(SAMPLES[3])  # the larder, won by leaving it alone
    players = [Player(game) for _ in range(4)]
    for player in players:
        player.step("go to table 1")
        player.step("take apple 1 from table 1")
    seen = [
        player.step("move apple 1 to table 1" if number == 2 else "inventory") for number, player in enumerate(players)
    ]
    assert [one.won for one in seen] == [False, False, True, False]
    assert [one.feedback for one in seen] == [
        "You are carrying: a apple 1.",
        "You are carrying: a apple 1.",
        "You move the apple 1 to the table 1.",
        "You are carrying: a apple 1.",
    ]
