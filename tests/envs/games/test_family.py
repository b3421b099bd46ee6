"""TextArena's games as tasks; with the engine where it is installed."""

from __future__ import annotations

import ast
import random
import socket
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metagym
from metagym.conformance import check_family
from metagym.conformance.texts import faults_of
from metagym.errors import BadInput
from metagym.seeding import rng
from metagym_envs.games.catalogue import GAMES, OUT, find, settings_for

textarena = pytest.importorskip("textarena", reason="needs the extra `games`")

from metagym_envs.games import Games  # noqa: E402
from metagym_envs.games.engine import Table  # noqa: E402
from metagym_envs.games.env import TextArenaGame  # noqa: E402
from metagym_envs.games.opponents import move_of  # noqa: E402

FREE = {"GuessTheNumber": "[{0}]", "Mastermind": "[{0} {1} {2} {3} {4}]", "Sudoku": "[{0} {1} {2}]"}


def opened(name: str, seed: int = 0, **options: Any) -> TextArenaGame:
    game = find(name)
    given = dict(game.variants["train"][0]) if game.variants else {}
    return TextArenaGame(game, settings_for(game, {}) | given, seed, **options)


def a_move(name: str, info: dict[str, Any], chance: random.Random) -> str:
    if "admissible" in info:
        return str(chance.choice(info["admissible"]))
    return FREE[name].format(*chance.sample(range(1, 9), 5))


def walk(env: TextArenaGame, seed: int | None = None, steps: int = 60) -> list[Any]:
    """An episode of random legal moves, as everything that was seen in it."""
    chance = rng(env.seed, "walk")
    observation, info = env.reset(seed=seed)
    seen: list[Any] = [(observation, info)]
    for _ in range(steps):
        seen.append(env.step(a_move(env.game.name, info, chance)))
        info = seen[-1][4]
        if seen[-1][2]:
            break
    return seen


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a game asks the network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("name", sorted(GAMES))
class TestEveryGame:
    def test_returns_are_bounded_and_tell_success(self, name: str) -> None:
        for seed in range(6):
            env = opened(name, seed)
            seen = walk(env, steps=200)
            assert not seen[0][1]["success"]
            assert [step[1] for step in seen[1:-1]] == [0.0] * (len(seen) - 2)
            _, reward, over, truncated, info = seen[-1]
            assert over and not truncated and info.get("admissible", ()) == ()
            low = -1.0 if env.game.seats == 2 else 0.0
            assert low <= reward <= 1.0 and info["success"] == (reward == 1.0)
            with pytest.raises(BadInput, match="call reset"):
                env.step("[0]")

    def test_s04_equal_seeds_are_equal_games_whatever_the_global_generators_say(self, name: str) -> None:
        env = opened(name, 3)
        first = walk(env)
        random.seed(5)
        state = random.getstate()
        assert walk(env) == first and walk(opened(name, 3)) == first
        assert random.getstate() == state, "the global generator was moved"
        if not env.game.variants:
            assert any(walk(opened(name, seed)) != first for seed in (4, 5, 6))

    def test_two_moves_that_the_rules_forbid_end_it_and_reset_forgets_them(self, name: str) -> None:
        env = opened(name, 1)
        for _ in range(2):
            env.reset()
            observation, reward, over, _, _ = env.step("[nonsense]")
            assert (
                (reward, over) == (0.0, False) and "valid" in observation.lower() or "bad action" in observation.lower()
            )
            _, reward, over, _, info = env.step("nonsense")
            assert over and not info["success"] and info["reason"]
            assert reward == -1.0 if env.game.seats == 2 else 0.0 <= reward < 1.0


@pytest.mark.parametrize("name", sorted(GAMES))
@given(
    texts=st.lists(st.text(max_size=60) | st.from_regex(r"\[[A-Za-z :]{0,8}[0-9]{0,5}[ ,]?[0-9]{0,3}\]"), max_size=8)
)
@settings(max_examples=10, deadline=None)
def test_any_text_is_answered_in_clean_words(name: str, texts: list[str]) -> None:
    env = opened(name, 2)
    observation, _ = env.reset()
    for text in texts:
        assert not faults_of(observation)
        observation, reward, over, _, _ = env.step(text)
        assert -1.0 <= reward <= 1.0
        if over:
            break


@pytest.mark.slow
def test_every_game_is_the_same_in_every_process() -> None:
    code = (
        "import hashlib\nfrom tests.envs.games.test_family import GAMES, opened, walk\nd = hashlib.sha256()\n"
        "for n in sorted(GAMES):\n for s in range(4): d.update(repr(walk(opened(n, s))).encode())\nprint(d.hexdigest())"
    )
    root = Path(__file__).resolve().parents[3]
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
        ).stdout
        for seed in ("0", "1")
    ]  # fmt: skip
    assert runs[0] == runs[1] and len(runs[0]) == 65


def test_s07_games_in_threads_play_as_alone() -> None:
    names = ["2048", "Sokoban", "KuhnPoker", "LiarsDice", "PigDice", "Sudoku"]
    alone = [walk(opened(name, 7)) for name in names]
    together: dict[str, Any] = {}
    threads = [
        threading.Thread(target=lambda name=name: together.update({name: walk(opened(name, 7))})) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[name] for name in names] == alone


def test_the_played_games_evaluate_no_text() -> None:
    root = Path(textarena.__file__).parent
    files = [root / "core.py", root / "state.py"]
    for game in GAMES.values():
        files += sorted((root / "envs" / game.folder).glob("*.py"))
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__"), file


def test_every_game_of_textarena_is_played_or_has_a_reason() -> None:
    folders = {path.name for path in (Path(textarena.__file__).parent / "envs").iterdir() if (path / "env.py").exists()}
    assert {game.folder for game in GAMES.values()} | set(OUT) == folders


class TestSolved:
    """Puzzles are won by playing them as they are meant to be."""

    def test_tower_of_hanoi(self) -> None:
        def moves(count: int, one: str, other: str, spare: str) -> list[str]:
            if not count:
                return []
            return [*moves(count - 1, one, spare, other), f"[{one} {other}]", *moves(count - 1, spare, other, one)]

        env = opened("TowerOfHanoi")
        env.reset()
        steps = [env.step(move) for move in moves(3, "A", "C", "B")]
        assert [step[1] for step in steps] == [0.0] * 6 + [1.0] and steps[-1][4]["success"]

    def test_s10_two_moves_in_one_text_are_one(self) -> None:
        env = opened("TowerOfHanoi")
        env.reset()
        observation = env.step("[A C] [A B]")[0]
        assert "A: [3, 2]\nB: []\nC: [1]" in observation

    def test_guess_the_number(self) -> None:
        env = opened("GuessTheNumber", 5)
        env.reset()
        low, high, over = 1, 10_000, False
        while not over:
            middle = (low + high) // 2
            observation, reward, over, _, info = env.step(f"[{middle}]")
            low, high = (middle + 1, high) if "higher" in observation else (low, middle - 1)
        assert info["success"] and reward == 1.0

    def test_sudoku_and_frozen_lake(self) -> None:
        env = opened("Sudoku", 1)
        env.reset()
        engine = env._table.engine
        holes = [(row, column) for row in range(9) for column in range(9) if not engine.game_board[row][column]]
        for row, column in holes:
            *_, reward, over, _, info = env.step(f"[{row + 1} {column + 1} {engine.full_grid[row][column]}]")
        assert over and reward == 1.0 and info["success"]
        env = opened("FrozenLake", 1)
        env.reset()
        for move in _way(env._table.engine):
            *_, reward, over, _, info = env.step(move)
        assert over and reward == 1.0 and info["success"]

    def test_a_share_of_1_is_not_paid_for_smaller_tiles(self) -> None:
        env = opened("2048")
        env.reset()
        state = env._table.engine.state.game_state
        state["board"] = [[64, 32, 64, 32], [32, 64, 32, 64], [64, 32, 64, 32], [4, 8, 2, 2]]
        state["score"] = 4_000
        env.step("[nonsense]")
        _, reward, over, _, info = env.step("[nonsense]")
        assert over and not info["success"] and reward == 0.95


def _way(engine: Any) -> list[str]:
    """Shortest way over the ice."""
    names = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    grid, start, goal = (engine.state.game_state[name] for name in ("grid", "player_pos", "goal_pos"))
    ways: dict[Any, list[str]] = {start: []}
    open_ = deque([start])
    while goal not in ways:
        place = open_.popleft()
        for name, (down, right) in names.items():
            there = place[0] + down, place[1] + right
            if there not in ways and 0 <= min(there) and max(there) < engine.size and grid[there[0]][there[1]] != "H":
                ways[there] = [*ways[place], f"[{name}]"]
                open_.append(there)
    return list(ways[goal])


class TestTwoSeats:
    def test_the_seed_decides_who_begins_unless_told(self) -> None:
        seats = {opened("TicTacToe", seed).reset()[1]["seat"] for seed in range(10)}
        assert seats == {0, 1}
        env = opened("TicTacToe", seat=1)
        observation, info = env.reset()
        assert info["seat"] == 1 and "Player 0 placed their symbol" in observation and len(info["admissible"]) == 8

    def test_a_careful_opponent_takes_a_win_and_stops_one(self) -> None:
        env = opened("TicTacToe", opponent="careful", seat=0)
        for seed in range(10):
            env.reset(seed=seed)
            board = env._table.engine.state.game_state["board"]
            board[0][:2], board[2][2] = ["O", ""], "X"  # the agent has 0 and takes 1: 2 must be stopped
            observation = env.step("[1]")[0]
            assert "Player 1 placed their symbol (X) in cell 2." in observation
            *_, reward, over, _, info = env.step("[3]")  # 2, 8 -> 5 wins
            assert over and reward == -1.0 and not info["success"] and info["reason"] == "Player 1 has won!"

    @pytest.mark.parametrize(
        "name",
        [
            *("Alquerque", "Battleship", "Briscola", "ColonelBlotto", "Crusade", "GameOfPureStrategy", "GermanWhist"),
            *("IteratedTwoThirdsAverage", "KuhnPoker", "LiarsDice", "MemoryGame", "PigDice", "TicTacToe"),
            "UltimateTicTacToe",
            *(
                pytest.param(name, marks=pytest.mark.slow)
                for name in ("Chopsticks", "ConnectFour", "Nim", "SimpleTak", "WildTicTacToe")
            ),
        ],
    )
    def test_a_careful_opponent_wins_more_than_a_random_one(self, name: str) -> None:
        def won(opponent: str) -> float:
            ends = [walk(opened(name, seed, opponent=opponent), steps=200)[-1] for seed in range(12)]
            return sum(end[1] for end in ends)

        assert won("careful") < won("random")

    @pytest.mark.parametrize(
        ("name", "habit"), [("IteratedMatchingPennies", "[tails]"), ("IteratedRockPaperScissors", "[paper]")]
    )
    def test_a_careful_opponent_sees_a_habit(self, name: str, habit: str) -> None:
        for seat in (0, 1):
            env = opened(name, opponent="careful", seat=seat)
            env.reset(seed=seat)
            seen = [env.step(habit) for _ in range(5)]
            assert seen[-1][2] and seen[-1][1] == -1.0

    def test_a_careful_opponent_takes_a_corner(self) -> None:
        table = Table(find("Othello"), settings_for(find("Othello"), {}))
        taken = 0
        for seed in range(20):
            table.reset(seed)
            chance = rng(seed, "corners")
            while not table.over:
                corners = {"[0, 0]", "[0, 5]", "[5, 0]", "[5, 5]"} & set(table.legal() or ())
                move = move_of(table, "careful", chance)
                assert move in (corners or table.legal() or ())
                taken += bool(corners)
                table.act(move)
        assert taken


class TestFamily:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"games": []}, "needs a game"),
            ({"games": "Wordle"}, "Wordle is not played here"),
            ({"size": 0}, "size is a number"),
            ({"seat": 2}, "a seat is 0, 1, 'both' or None"),
            ({"seat": True}, "a seat is 0, 1, 'both' or None"),
            ({"opponent": "perfect"}, "an opponent is 'random', 'careful' or the spec of a model, got 'perfect'"),
            ({"opponent": None}, "an opponent is 'random', 'careful' or the spec of a model, got None"),
            ({"settings": {"Nim": {"stones": 3}}}, "no setting 'stones'"),
        ],
    )
    def test_a_wrong_setting_is_named(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(BadInput, match=message):
            Games(**options)

    def test_settings_reach_the_engine_and_what_it_refuses_is_named(self) -> None:
        family = Games("Nim", {"Nim": {"piles": [1, 1]}}, seat=0, size=1)
        env = family.open(family.task_set("train")[0])
        assert env.reset()[1]["admissible"] == ("[0 1]", "[1 1]")
        family = Games("Othello", {"Othello": {"board_size": 5}}, size=1)
        with pytest.raises(BadInput, match="refuses the settings"):
            family.open(family.task_set("train")[0]).reset()

    def test_a_game_that_the_opponent_wins_at_once_is_dealt_again(self) -> None:
        short = settings_for(GAMES["PigDice"], {"winning_score": 6})
        for seed in range(20):
            env = TextArenaGame(GAMES["PigDice"], short, seed, seat=1)
            text, info = env.reset()
            assert info["admissible"] and not info["success"] and env.reset() == (text, info)
        with pytest.raises(BadInput, match="over before the agent's first move"):
            TextArenaGame(GAMES["Nim"], settings_for(GAMES["Nim"], {"piles": [1]}), 0, seat=1).reset()

    def test_held_out_games_have_seeds_or_sizes_of_their_own(self) -> None:
        family = Games(("TowerOfHanoi", "Nim"), size=3)
        disks = {
            split: [dict(task.params) for task in family.task_set(split, ["TowerOfHanoi"])] for split in family.splits
        }
        assert {split: [one["num_disks"] for one in found] for split, found in disks.items()} == {
            "train": [3, 4], "valid": [5], "test": [6],
        }  # fmt: skip
        seeds = [task.seed for split in family.splits for task in family.task_set(split, ["Nim"])]
        assert len(set(seeds)) == 9

    def test_ids_are_registered_and_a_model_plays(self) -> None:
        env = gymnasium.make("MetaGym/Games-v0", games=["Secretary"], size=2)
        assert "[accept]" in env.reset(seed=0)[0]
        env.close()
        family = Games("TicTacToe", size=8, seat=0)
        asked: list[str] = []

        def takes_the_middle(request: Any) -> str:
            asked.append(request.messages[-1].content)
            free = asked[-1].rsplit("Available Moves: ", 1)[1].split("\n")[0]
            return f"Action: {'4' if '[4]' in free else free.split(',')[0].strip(' []' + chr(39))}"

        episodes = metagym.play(family.task_set("train"), takes_the_middle, family=family)
        assert {turn.repair.name for episode in episodes for turn in episode.turns} == {"REPAIRED"}
        assert any(episode.success for episode in episodes) and "You are Player 0 in Tic Tac Toe" in asked[0]

    def test_the_conformance_suite_has_no_fault_to_tell(self) -> None:
        report = check_family("Games", options={"size": 8, "games": ["Nim", "FrozenLake"]}, tasks=2, steps=5)
        assert report.ok, report

    @pytest.mark.slow
    def test_the_conformance_suite_over_all_games(self) -> None:
        report = check_family("Games", options={"size": 5}, tasks=len(GAMES), steps=20)
        assert report.ok, report


@pytest.mark.slow
def test_every_sokoban_of_the_splits_can_be_solved_within_its_limit() -> None:
    table = Table(find("Sokoban"), settings_for(find("Sokoban"), {}))
    for first in (0, 1_000_000, 2_000_000):
        for number in range(100):
            table.reset(first + number)
            assert 1 <= _pushes(table.engine) <= table.settings["max_turns"]


def _pushes(engine: Any) -> int:
    """Length of the shortest solution of a room."""
    import numpy as np

    def cells(mask: Any) -> frozenset[tuple[int, int]]:
        return frozenset((int(row), int(column)) for row, column in np.argwhere(mask))

    floor, goals = cells(engine.room_fixed != 0), cells(engine.room_fixed == 2)
    start = next(iter(cells(engine.room_state == 5))), cells((engine.room_state == 3) | (engine.room_state == 4))
    known, open_ = {start: 0}, deque([start])
    while open_:
        (row, column), boxes = state = open_.popleft()
        if boxes == goals:
            return known[state]
        for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            there, beyond = (row + down, column + right), (row + 2 * down, column + 2 * right)
            if there not in floor or (there in boxes and (beyond not in floor or beyond in boxes)):
                continue
            after = there, (boxes - {there}) | {beyond} if there in boxes else boxes
            if after not in known:
                known[after] = known[state] + 1
                open_.append(after)
    raise AssertionError("a room without a solution")
