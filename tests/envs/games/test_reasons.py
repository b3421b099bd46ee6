"""Why games are left out: what TextArena 0.7.4 does in them, seen by playing. A reason that is gone fails here."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metagym_envs.games.catalogue import OUT

textarena = pytest.importorskip("textarena", reason="needs the extra `games`")


@pytest.fixture(autouse=True)
def keeps_the_global_generator() -> Iterator[None]:
    state = random.getstate()
    yield
    random.setstate(state)


def started(name: str, seats: int = 2, kind: str = "", **settings: Any) -> Any:
    assert name in OUT
    engine = getattr(importlib.import_module(f"textarena.envs.{name}.env"), kind or f"{name}Env")(**settings)
    engine.reset(num_players=seats, seed=1)
    return engine


@pytest.mark.parametrize("name", ["Cryptarithm", "Slitherlink", "ThreeCardMonte"])
def test_a_forbidden_move_is_paid_a_text(name: str) -> None:
    engine = started(name, seats=1)
    for _ in range(2):
        engine.step("[nonsense]")
    assert engine.state.done and isinstance(engine.state.rewards[0], str)


def test_crosswords_and_logic_puzzles_draw_on_a_few_dozen() -> None:
    root = Path(textarena.__file__).parent / "envs"
    for folder, file, kind in (
        ("Crosswords", "words_clues.jsonl", "hardcore"),
        ("LogicPuzzle", "game_board_clues.jsonl", "difficulty"),
    ):
        rows = [json.loads(line) for line in (root / folder / file).read_text(encoding="utf-8").splitlines()]
        kinds = [row[kind] for row in rows]
        assert max(kinds.count(one) for one in set(kinds)) <= 80, folder


def test_golf_ends_before_the_other_players_last_turn_and_pays_a_tie_to_seat_0() -> None:
    engine = started("Golf")
    state = engine.state.game_state
    for player in state["players"].values():
        for number, card in enumerate(player["cards"]):
            card["card"], card["revealed"] = dict(state["deck"][0]), number > 0
    engine.step("[take]")
    state["drawn_card"] = dict(state["deck"][0])
    engine.step("[swap 1 1]")
    said = " ".join(message for _, message, _ in engine.state.observations[1])
    assert "Each other player gets one more turn" in said and engine.state.done
    scores = [player["score"] for player in state["players"].values()]
    assert scores[0] == scores[1] and engine.state.rewards == {0: 1, 1: -1}


def test_high_society_leaves_out_the_money_and_goes_on_over_equal_bids() -> None:
    engine = started("HighSociety")
    for _ in range(100):
        engine.step("[5]")
    assert not engine.state.done
    state = engine.state.game_state
    state["player_prestige"], state["prestige_deck"] = {0: 20, 1: 20}, []
    state["player_money"] = {0: [11, 10], 1: [1]}
    engine._end_match()
    assert engine.state.rewards == {0: 0, 1: 0} and "remaining cash" in engine._prompt(0, state)


def test_indian_poker_carries_a_check_on_and_refuses_to_call_a_bet_beyond_the_chips() -> None:
    engine = started("IndianPoker", max_rounds=5)
    rounds = []
    for _ in range(3):
        engine.step("[check]")
        rounds.append(engine.state.game_state["current_round"])
    assert rounds == [1, 2, 3]  # the first took two checks, the second one
    engine = started("IndianPoker", max_rounds=5)
    first = engine.state.current_player_id
    engine.state.game_state["player_chips"][1 - first] = 5
    engine.step("[bet 50]")
    engine.step("[call]")
    assert any("Insufficient chips" in message for _, message, _ in engine.state.observations[1 - first])


def test_lines_of_action_does_not_see_who_is_connected_by_the_others_capture() -> None:
    engine = started("LinesOfAction")
    board = engine.state.game_state["board"]
    for row in range(8):
        board[row][:] = [""] * 8
    for row, column, mark in ((0, 0, "X"), (0, 1, "X"), (7, 7, "X"), (7, 5, "O"), (3, 0, "O")):
        board[row][column] = mark
    engine.step("[f1h1]")
    assert board[7][7] == "O" and engine._connected("X") and not engine._connected("O") and not engine.state.done


def test_quantum_tic_tac_toe_loses_a_mark_at_a_collapse() -> None:
    engine = started("QuantumTicTacToe")
    for move in ("[0,1]", "[2,1]", "[2,0]"):
        engine.step(move)
    state = engine.state.game_state
    assert not state["superpositions"] and sum(cell != "" for row in state["board"] for cell in row) == 2


def test_rush_hour_prints_and_has_no_limit(capsys: pytest.CaptureFixture[str]) -> None:
    engine = started("RushHour", seats=1)
    assert "puzzle" in capsys.readouterr().out and engine.state.max_turns is None


def test_santorini_does_not_end_by_forbidden_moves() -> None:
    engine = started("Santorini", kind="SantoriniBaseFixedWorkerEnv")
    for _ in range(50):
        engine.step("[nonsense]")
    assert not engine.state.done and engine.state.current_player_id == 0


def test_set_pays_for_one_card_named_three_times() -> None:
    engine = started("Set", seats=1)
    engine.step("[1, 1, 1]")
    assert engine.state.game_state["score"] == 1


def test_spite_and_malice_lets_a_player_draw_for_good() -> None:
    engine = started("SpiteAndMalice")
    engine.deck = []
    engine.players[0].update(hand=[], payoff=["5♠"])
    for _ in range(50):
        engine.step("[draw]")
    assert not engine.state.done and engine.state.current_player_id == 0
    engine.step("[discard 5♠ 0]")
    engine.step("[play 5♠ 0]")
    assert engine.state.done and engine.state.rewards == {0: -1, 1: 1}


def test_stratego_shows_each_side_the_others_pieces() -> None:
    engine = started("Stratego")
    boards = [message for _, message, kind in engine.state.observations[1] if kind.name == "GAME_BOARD"]
    own_rows = [line for line in boards[0].splitlines() if line[:1] in set("ABCD") and line[1:3] == "  "]
    assert len(own_rows) == 4 and any("MS" in row for row in own_rows)  # the rows of player 0


def test_tak_crashes_when_it_is_won() -> None:
    engine = started("Tak", board_size=4, stones=15, capstones=1)
    with pytest.raises(TypeError, match="set_winner"):
        for column in range(4):
            engine.step(f"[place () {{(0,{column}): [F0]}}]")
            engine.step(f"[place () {{(3,{column}): [F1]}}]")
